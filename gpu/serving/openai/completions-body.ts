/** The body of `/v1/completions`. */
import { z } from 'zod';
import { tokenIds, unsupported } from '../fields.ts';
import { commonFields, topLogprobsLimit } from './common.ts';

export const completionsSchema = z.strictObject({
  ...commonFields,
  prompt: z.union([
    z.string(),
    tokenIds.nonempty(),
    z.array(z.string()).nonempty(),
    z.array(tokenIds).nonempty(),
  ]),
  max_tokens: z.int().nonnegative().nullish(),
  echo: z.boolean().nullish(),
  logprobs: z.int().min(0).max(topLogprobsLimit).nullish(),
  best_of: unsupported(1),
  suffix: unsupported(''),
});

export type CompletionsBody = z.infer<typeof completionsSchema>;

export interface Prompt {
  text: string | null;
  ids: number[] | null;
  /** The field that holds it, for errors. */
  param: string;
}

export function promptsOf({ prompt }: CompletionsBody): Prompt[] {
  if (typeof prompt === 'string') return [{ text: prompt, ids: null, param: 'prompt' }];
  if (typeof prompt[0] === 'number') return [{ text: null, ids: prompt as number[], param: 'prompt' }];
  return (prompt as (string | number[])[]).map((one, i) => ({
    text: typeof one === 'string' ? one : null,
    ids: typeof one === 'string' ? null : one,
    param: `prompt.${i}`,
  }));
}
