/** A ref names immutable bytes in the store by their SHA-256; it is the only form in which data travels through workflows. */
import { z } from 'zod';

export const refSchema = z.strictObject({
  hash: z.string().regex(/^sha256:[0-9a-f]{64}$/, 'expected sha256: and 64 hexadecimal digits'),
  size: z.number().int().nonnegative(),
  mediaType: z.string(),
});
export type Ref = z.infer<typeof refSchema>;

export const mediaTypes = {
  safetensors: 'application/vnd.safetensors',
  json: 'application/json',
  jsonl: 'application/jsonl',
} as const;
