/** What the endpoints of OpenAI's API share. */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import {
  ignored,
  probability,
  samplesLimit,
  seed,
  stopStrings,
  stopTokenIds,
  temperature,
  unsupported,
} from '../fields.ts';
import type { Asked, Response } from '../respond.ts';

/** Fields of both kinds of completion; the last lines are extensions that SGLang and vLLM have as well. */
export const commonFields = {
  model: z.string().optional(),
  temperature: temperature(2).nullish(),
  top_p: probability.nullish(),
  n: z.int().positive().max(samplesLimit).nullish(),
  stop: stopStrings,
  seed,
  stream: z.boolean().nullish(),
  stream_options: z
    .strictObject({ include_usage: z.boolean().optional(), include_obfuscation: unsupported(false) })
    .nullish(),
  frequency_penalty: unsupported(0),
  presence_penalty: unsupported(0),
  logit_bias: unsupported({}),
  user: ignored,
  metadata: ignored,
  rid: z.string().min(1).nullish(),
  top_k: z.union([z.literal(-1), z.int().nonnegative()]).default(-1),
  min_p: z.number().min(0).max(1).default(0),
  stop_token_ids: stopTokenIds,
  ignore_eos: z.boolean().default(false),
  skip_special_tokens: z.boolean().default(true),
  repetition_penalty: unsupported(1),
};

export type CommonFields = z.infer<z.ZodObject<typeof commonFields>>;

/** How many likely tokens to report at most. */
export const topLogprobsLimit = 20;

/** @param top likely tokens to report for each token; null for no log-probs at all */
export function askedOf(body: CommonFields, maxNewTokens: number, top: number | null): Asked {
  return {
    temperature: body.temperature ?? 1,
    topP: body.top_p ?? 1,
    topK: Math.max(0, body.top_k),
    minP: body.min_p,
    maxNewTokens,
    stopStrings: body.stop,
    stopTokenIds: body.stop_token_ids,
    ignoreEndTokens: body.ignore_eos,
    samples: body.n ?? 1,
    seed: body.seed ?? undefined,
    keepSpecialTokens: !body.skip_special_tokens,
    keepStop: false,
    report: {
      ...(top !== null && { untemperedLogprobs: true }),
      ...(top !== null && top > 0 && { topLogprobs: top }),
    },
  };
}

export interface Envelope {
  id: string;
  object: string;
  created: number;
  model: string;
}

/** The fields that an answer and all its chunks begin with. */
export function envelope(prefix: string, object: string, model: string, id?: string | null): Envelope {
  return {
    id: id ?? `${prefix}-${randomUUID().replaceAll('-', '')}`,
    object,
    created: Math.floor(Date.now() / 1000),
    model,
  };
}

export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
}

/** Changes with the weights, as the API means it. */
export function fingerprint(weightVersion: string): string {
  return `fp_${weightVersion}`;
}

export function usage(promptTokens: number, responses: readonly Pick<Response, 'ids'>[]): Usage {
  const completion = responses.reduce((total, { ids }) => total + ids.length, 0);
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completion,
    total_tokens: promptTokens + completion,
  };
}

/** Log-probs of a response's tokens from one on: of softmax(logits), at any temperature. */
export function tokenLogprobs(
  { ids, untemperedLogprobs, topLogprobs }: Response,
  from = 0,
): { id: number; logprob: number; top: { id: number; logprob: number }[] }[] {
  return ids.slice(from).map((id, i) => ({
    id,
    logprob: untemperedLogprobs![from + i]!,
    top: topLogprobs?.[from + i] ?? [],
  }));
}
