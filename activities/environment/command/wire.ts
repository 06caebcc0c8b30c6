/** What is said to the program of an environment and what it may answer: one JSON object a line. */
import { z } from 'zod';
import { RekindleError } from '../../../core/errors.ts';
import type { Task } from '../../../core/records.ts';

export type Message =
  | { type: 'open'; task: Task; seed: number }
  | { type: 'step'; response: string }
  /** The episode ends after the observation that the program has just given. */
  | { type: 'end' };

const observation = z.strictObject({ observation: z.string() });
const verdict = z.strictObject({ rewards: z.record(z.string(), z.number()), done: z.literal(true) });
const replySchemas = { open: observation, step: z.union([observation, verdict]), end: verdict };

const observationForm = '{"observation": "text"}';
const verdictForm = '{"rewards": {"name": number, …}, "done": true}';
const expected: Record<Message['type'], string> = {
  open: observationForm,
  step: `${observationForm} or ${verdictForm}`,
  end: verdictForm,
};

export type ReplyTo<T extends Message['type']> = z.infer<(typeof replySchemas)[T]>;

/** A longer line is refused unread. */
export const longestLine = 16 * 2 ** 20;

export function writeMessage(message: Message): string {
  return `${JSON.stringify(message)}\n`;
}

/**
 * The reply in a line that answers a message of the given type; `number` counts the program's lines from 1. Throws
 * EnvironmentError that names the line and what was expected: a program that says something else would say it again.
 */
export function readReply<T extends Message['type']>(type: T, line: string, number: number): ReplyTo<T> {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw wrongLine(number, `${shortened(line)} is not JSON`, type);
  }
  const parsed = replySchemas[type].safeParse(value);
  if (!parsed.success) throw wrongLine(number, `${shortened(line)} is not such a reply`, type);
  return parsed.data as ReplyTo<T>;
}

/** The rewards that a recipe asks for, of those that a program gave. Throws EnvironmentError when one is missing. */
export function checkRewards(
  given: Readonly<Record<string, number>>,
  names: readonly string[],
  number: number,
): Readonly<Record<string, number>> {
  const missing = names.filter((name) => !Object.hasOwn(given, name));
  if (missing.length === 0) return given;
  const found = Object.keys(given);
  throw new RekindleError(
    'EnvironmentError',
    `line ${number} of the program gives the rewards ${found.length === 0 ? '(none)' : found.join(', ')}; ` +
      `the recipe expects ${missing.join(', ')} too`,
    { hint: 'Give each reward of kind environment by its name, 0 included.', permanent: true },
  );
}

export function wrongLine(number: number, problem: string, type: Message['type']): RekindleError {
  return new RekindleError(
    'EnvironmentError',
    `line ${number} of the program: ${problem}; expected ${expected[type]} in reply to "${type}"`,
    {
      hint: 'Its standard output is for replies alone; other text belongs on standard error.',
      permanent: true,
    },
  );
}

function shortened(line: string): string {
  return JSON.stringify(line.length > 200 ? `${line.slice(0, 200)}…` : line);
}
