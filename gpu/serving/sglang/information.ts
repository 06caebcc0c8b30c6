/** What a server tells of itself. */
import { randomUUID } from 'node:crypto';
import type { Exchange } from '../http/exchange.ts';
import { HttpError } from '../http/http-error.ts';
import { respond } from '../respond.ts';
import type { Serving } from '../serving.ts';

export function health(_serving: Serving, exchange: Exchange): void {
  exchange.send(200, 'text/plain', '');
}

/** Seconds that one token may take. */
const generationTimeout = 20;

/** Generates one token. @throws HttpError 503 when that cannot be done now. */
export async function healthGenerate(serving: Serving, exchange: Exchange): Promise<void> {
  if (serving.dispatcher.paused) throw new HttpError(503, 'generation is paused', { retryAfter: 1 });
  const timeout = AbortSignal.timeout(generationTimeout * 1000);
  const [response] = await respond(serving, {
    id: `health-${randomUUID()}`,
    ids: [0],
    asked: {
      temperature: 0,
      topP: 1,
      topK: 0,
      minP: 0,
      maxNewTokens: 1,
      stopStrings: [],
      stopTokenIds: [],
      ignoreEndTokens: true,
      samples: 1,
      seed: 0,
      keepSpecialTokens: false,
      keepStop: false,
      report: {},
    },
    signal: AbortSignal.any([exchange.signal, timeout]),
  });
  if (response!.ids.length === 0) throw new HttpError(503, `no token within ${generationTimeout} s`);
  exchange.send(200, 'text/plain', '');
}

export function getModelInfo({ model, weights }: Serving, exchange: Exchange): void {
  exchange.sendJson(200, {
    model_path: model.path,
    tokenizer_path: model.path,
    is_generation: true,
    preferred_sampling_params: null,
    weight_version: weights.version,
  });
}

export async function getServerInfo(
  { model, weights, engine, dispatcher }: Serving,
  exchange: Exchange,
): Promise<void> {
  const { threads, slots, held, processId } = await engine.describe();
  exchange.sendJson(200, {
    model_path: model.path,
    served_model_name: model.name,
    context_length: model.config.maxPositions,
    weight_version: weights.version,
    threads,
    max_running_requests: slots,
    held_weights: held,
    process_id: processId,
    running: dispatcher.running,
    waiting: dispatcher.waiting,
  });
}

export function metrics({ metrics, dispatcher, weights }: Serving, exchange: Exchange): void {
  const { waiting, running, paused } = dispatcher;
  const text = metrics.render({
    waiting,
    running,
    paused,
    weightVersion: weights.version,
    released: [...weights.released],
  });
  exchange.send(200, 'text/plain; version=0.0.4; charset=utf-8', text);
}
