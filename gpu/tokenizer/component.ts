/**
 * Parts of a tokenizer.json (normalizer, pre-tokenizer, decoder): objects with a `type`, some of which hold others. What is not
 * implemented is refused by name, since a tokenizer that is nearly right gives wrong token ids without a sign.
 */
import { z } from 'zod';
import { RekindleError } from '../../core/errors.ts';
import { fileNames, shown } from '../model/model-files.ts';

/** Makes a part of one type from its settings; `at` is where it stands in the file. */
export type Make<T> = (settings: unknown, at: string) => T;

/** Nesting of sequences in a file that someone wrote in earnest. */
const deepest = 16;

export function refuse(at: string, problem: string): never {
  throw new RekindleError('ModelError', `${fileNames.tokenizer}: ${at} ${problem}`);
}

/** Reads settings with a schema. @throws RekindleError ModelError that names the field. */
export function settingsOf<T extends z.ZodType>(schema: T, settings: unknown, at: string): z.infer<T> {
  const parsed = schema.safeParse(settings);
  if (parsed.success) return parsed.data;
  const { path, message } = parsed.error.issues[0]!;
  refuse([at, ...path].join('.'), `is not as expected: ${message}`);
}

const typed = z.looseObject({ type: z.string() });

/** Makes the part that `value` describes. @throws RekindleError ModelError for a type that is not among `kinds`. */
export function makeComponent<T>(value: unknown, at: string, kinds: Readonly<Record<string, Make<T>>>): T {
  if (at.split('.').length > deepest) refuse(at, `is nested more than ${deepest} deep`);
  const { type } = settingsOf(typed, value, at);
  const make = Object.hasOwn(kinds, type) ? kinds[type] : undefined;
  if (make) return make(value, at);
  refuse(`${at}.type`, `is ${shown(type)}, supported are ${Object.keys(kinds).join(', ')}`);
}
