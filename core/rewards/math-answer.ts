import type { Task } from '../records.ts';
import { lastNumber, markedAnswer } from './extract-answer.ts';
import { equalRationals, parseRational } from './rational.ts';

/**
 * 1 if the final answer in the response equals the task's answer, else 0. The final answer is the last `\boxed{…}`, else what
 * follows the last `####`, else the last number. The task's answer may be a whole GSM8K solution or the answer alone.
 *
 * Numbers are equal if they are the same rational number: `1,234.50` is `$1234.5`, `0.5` is `\frac{1}{2}`; `50%` is read as
 * 50. Anything else is compared as text, case included. Only ASCII digits are digits.
 */
export function mathAnswer(response: string, task: Task): number {
  const candidate = normalize(markedAnswer(response) ?? lastNumber(response) ?? '');
  const reference = normalize(markedAnswer(task.answer) ?? task.answer);
  if (candidate === '' || reference === '') return 0;
  const candidateNumber = parseRational(candidate);
  const referenceNumber = parseRational(reference);
  if (!candidateNumber || !referenceNumber) return Number(candidate === reference);
  return Number(equalRationals(candidateNumber, referenceNumber));
}

/** Drops what does not change the value: dollar and percent signs, LaTeX spacing, runs of white space, a closing period. */
function normalize(answer: string): string {
  return answer
    .replaceAll('−', '-')
    .replace(/\\?[$%]|\\[,!;: ]/g, '')
    .replace(/\s+/g, ' ')
    .trim()
    .replace(/\.$/, '')
    .trim();
}
