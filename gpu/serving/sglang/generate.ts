/** `/generate` as SGLang serves it: token ids or text in; text, ids and log-probs out. */
import { randomUUID } from 'node:crypto';
import type { EventStream, Exchange } from '../http/exchange.ts';
import { badField } from '../http/http-error.ts';
import { respond, type Asked, type Response } from '../respond.ts';
import { encodeText, newTokens, type ServedModel } from '../served-model.ts';
import type { Serving } from '../serving.ts';
import { parseGenerateBody, type SingleRequest } from './generate-body.ts';
import { logprobsView } from './logprobs.ts';
import { together } from '../together.ts';

interface Prepared extends Pick<SingleRequest, 'logprobs'> {
  id: string;
  ids: number[];
  asked: Asked;
  /** Number of the first response among those of all prompts. */
  index: number;
}

export async function generate(serving: Serving, exchange: Exchange): Promise<void> {
  const began = performance.now();
  const { requests, isBatch, stream } = parseGenerateBody(await exchange.json());
  const prepared = requests.map((request) => prepare(serving.model, request));
  prepared.forEach((request, i) => {
    const before = prepared[i - 1];
    if (before) request.index = before.index + before.asked.samples;
  });
  const isList = isBatch || prepared[0]!.asked.samples > 1;

  const answer = async (request: Prepared, signal: AbortSignal, events?: EventStream): Promise<object[]> => {
    const { id, ids, asked, index } = request;
    const view = (response: Response): object =>
      responseView(serving.model, request, response, (performance.now() - began) / 1000);
    const responses = await respond(serving, {
      id,
      ids,
      asked,
      signal,
      ...(events && {
        onNews: (_, soFar) => {
          if (signal.aborted) return;
          // An event holds all that came before, so a slow reader may miss some; the last of a response is always sent.
          if (soFar.finish === null && events.congested) return;
          events.send(isList ? { index: index + soFar.sample, ...view(soFar) } : view(soFar));
        },
      }),
    });
    return responses.map(view);
  };

  if (stream) {
    await exchange.stream(async (events) => {
      await together(prepared, exchange.signal, (request, signal) => answer(request, signal, events));
    });
  } else {
    const results = (await together(prepared, exchange.signal, answer)).flat();
    exchange.sendJson(200, isList ? results : results[0]);
  }
}

function prepare(model: ServedModel, request: SingleRequest): Prepared {
  const { prompt, sampling, logprobs, param } = request;
  const ids = 'ids' in prompt ? prompt.ids : encodeText(model, prompt.text, param);
  if (logprobs && logprobs.start >= ids.length) {
    throw badField('logprob_start_len', `is ${logprobs.start}, the prompt has ${ids.length} tokens`);
  }
  const top = logprobs?.top ?? 0;
  return {
    id: request.rid ?? randomUUID().replaceAll('-', ''),
    ids,
    logprobs,
    index: 0,
    asked: {
      temperature: sampling.temperature,
      topP: sampling.top_p,
      topK: Math.max(0, sampling.top_k),
      minP: sampling.min_p,
      maxNewTokens: newTokens(model, ids, sampling.max_new_tokens, param),
      stopStrings: sampling.stop,
      stopTokenIds: sampling.stop_token_ids,
      ignoreEndTokens: sampling.ignore_eos,
      samples: sampling.n,
      seed: sampling.sampling_seed ?? undefined,
      keepSpecialTokens: !sampling.skip_special_tokens,
      keepStop: sampling.no_stop_trim,
      report: {
        ...(logprobs && logprobs.start >= 0 && { promptLogprobs: true }),
        ...(top > 0 && { topLogprobs: top, untemperedLogprobs: true }),
      },
    },
  };
}

function responseView(
  { tokenizer }: ServedModel,
  { id, ids, asked, logprobs }: Prepared,
  response: Response,
  seconds: number,
): object {
  return {
    text: response.text,
    output_ids: response.ids,
    meta_info: {
      id: asked.samples > 1 ? `${id}_${response.sample}` : id,
      finish_reason: finishReason(response),
      prompt_tokens: ids.length,
      completion_tokens: response.ids.length,
      cached_tokens: 0,
      weight_version: response.weightVersion,
      ...(logprobs && logprobsView(tokenizer, ids, response, logprobs, asked.temperature)),
      e2e_latency: seconds,
    },
  };
}

function finishReason({ finish, ids, matched }: Response): object | null {
  switch (finish) {
    case null:
      return null;
    case 'stop':
      return { type: 'stop', matched };
    case 'length':
      return { type: 'length', length: ids.length };
    case 'abort':
      return { type: 'abort', message: 'Aborted by a request to do so' };
  }
}
