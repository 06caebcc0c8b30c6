import type { Task } from '../records.ts';

/**
 * 1 if the response is the task's answer, character for character, else 0. One newline at the end is allowed for: it is how a
 * model with the characters tokenizer ends a response.
 */
export function exactMatch(response: string, task: Task): number {
  const ended = response.endsWith('\n') ? response.slice(0, -1) : response;
  return Number(ended === task.answer);
}
