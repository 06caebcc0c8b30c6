/** Fields that several endpoints take, and how fields are treated that ask for what is not there. */
import { z } from 'zod';
import { smallestTemperature } from '../../core/steerable.ts';

export const tokenIds = z.array(z.int().nonnegative());
/** One text or a list of at most 32 that are not empty. */
export const stopStrings = z
  .union([
    z
      .string()
      .min(1)
      .transform((text) => [text]),
    z.array(z.string().min(1)).max(32),
  ])
  .nullish()
  .transform((stops) => stops ?? []);
export const stopTokenIds = tokenIds.nullish().transform((ids) => ids ?? []);
/** At most `largest`; what is too small to divide logits by is greedy, as in SGLang. */
export function temperature(largest: number): z.ZodType<number> {
  const range = z.number().min(0).max(largest);
  return range.transform((value) => (value < smallestTemperature ? 0 : value));
}
export const probability = z.number().gt(0).max(1);
export const samplesLimit = 128;
export const seed = z.int().nonnegative().nullish();

/** A field that may be given as long as it asks for nothing: null, or one of the values that change nothing. */
export function unsupported(...neutral: readonly unknown[]): z.ZodOptional<z.ZodUnknown> {
  const allowed = [null, ...neutral].map((value) => JSON.stringify(value));
  return z
    .unknown()
    .refine((value) => allowed.includes(JSON.stringify(value)), {
      error: `not supported here, expected ${allowed.join(' or ')}`,
    })
    .optional();
}

/** A field that tells the server nothing it uses, such as who the user is. */
export const ignored = z.unknown().optional();
