/**
 * Log-probs as SGLang writes them: triples of log-prob, token id, and text or null. Those of the response are of
 * softmax(logits / temperature), those of the prompt of softmax(logits).
 */
import type { Tokenizer } from '../../tokenizer/index.ts';
import type { Response } from '../respond.ts';

export type LogprobTriple = [logprob: number | null, id: number, text: string | null];

export interface LogprobsAsked {
  /** First prompt token with a log-prob; -1 for none. */
  start: number;
  top: number;
  text: boolean;
}

export interface LogprobsView {
  input_token_logprobs: LogprobTriple[];
  output_token_logprobs: LogprobTriple[];
  output_top_logprobs?: LogprobTriple[][];
}

export function logprobsView(
  tokenizer: Tokenizer,
  prompt: readonly number[],
  response: Response,
  { start, top, text }: LogprobsAsked,
  temperature: number,
): LogprobsView {
  const triple = (logprob: number | null, id: number): LogprobTriple => [
    logprob,
    id,
    text ? tokenizer.token(id) : null,
  ];
  const { ids, logprobs, promptLogprobs = [] } = response;
  // The first entry has no log-prob, wherever it stands.
  const input =
    start < 0
      ? []
      : prompt
          .slice(start)
          .map((id, i) => triple(i === 0 ? null : (promptLogprobs[start + i - 1] ?? null), id));
  return {
    input_token_logprobs: input,
    output_token_logprobs: ids.map((id, i) => triple(logprobs[i]!, id)),
    ...(top > 0 && {
      output_top_logprobs: tempered(response, temperature).map((entries) =>
        entries.map(({ id, logprob }) => triple(logprob, id)),
      ),
    }),
  };
}

/**
 * The likeliest tokens with their log-probs at the temperature. With u = log softmax(l) and t = log softmax(l / T), t - u / T is
 * the same for all tokens of a position, and known from the one that was sampled.
 */
function tempered(
  { logprobs, untemperedLogprobs = [], topLogprobs = [] }: Response,
  temperature: number,
): { id: number; logprob: number }[][] {
  const T = temperature === 0 ? 1 : temperature;
  return topLogprobs.map((entries, i) => {
    const shift = logprobs[i]! - untemperedLogprobs[i]! / T;
    return entries.map(({ id, logprob }) => ({ id, logprob: logprob / T + shift }));
  });
}
