/**
 * How models write tool calls in their output. A parser takes the text as it comes and gives out content and whole calls, in
 * their order; what looks like a call and is none stays content, so no text is lost.
 */
import { randomInt } from 'node:crypto';
import { z } from 'zod';

export interface ParsedCall {
  name: string;
  /** JSON text. */
  arguments: string;
}

export type OutputPart = { content: string } | { call: ParsedCall };

export interface ToolCallParser {
  push(text: string): OutputPart[];
  /** What was held back, when no more text comes. */
  end(): OutputPart[];
}

export interface ToolCallFormat {
  parser(): ToolCallParser;
  /** An id for a call, of the form that the model's template takes back. */
  newId(): string;
}

const callSchema = z
  .looseObject({
    name: z.string().min(1),
    arguments: z.union([z.looseObject({}), z.string()]).optional(),
    parameters: z.union([z.looseObject({}), z.string()]).optional(),
  })
  .transform(({ name, arguments: given, parameters }) => {
    const value = given ?? parameters ?? {};
    return { name, arguments: typeof value === 'string' ? value : JSON.stringify(value) };
  });

/** The calls in a JSON text, one or a list of them; null when it is anything else. */
export function readCalls(json: string): ParsedCall[] | null {
  try {
    const value: unknown = JSON.parse(json);
    return z
      .array(callSchema)
      .nonempty()
      .parse(Array.isArray(value) ? value : [value]);
  } catch {
    return null;
  }
}

export function randomId(prefix: string, length: number): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
  return prefix + Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('');
}

/** Content unless it is empty. */
export function content(text: string): OutputPart[] {
  return text === '' ? [] : [{ content: text }];
}
