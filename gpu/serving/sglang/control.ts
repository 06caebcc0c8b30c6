/** SGLang's endpoints that steer a server: weights, pauses, aborts, memory. */
import { z } from 'zod';
import type { EngineMemory } from '../../engine-port.ts';
import { ignored, unsupported } from '../fields.ts';
import type { Exchange } from '../http/exchange.ts';
import { HttpError, parseBody, toHttpError } from '../http/http-error.ts';
import type { Serving } from '../serving.ts';
import { findWeights } from '../find-weights.ts';

const updateSchema = z.strictObject({
  model_path: z.string().min(1),
  weight_version: z.string().min(1).nullish(),
  abort_all_requests: z.boolean().default(false),
  load_format: unsupported('auto', 'safetensors'),
  /** No cache outlives the weights that it was made with, so there is nothing to flush or to keep. */
  flush_cache: ignored,
  keep_pause: unsupported(false),
  is_async: unsupported(false),
  torch_empty_cache: ignored,
  recapture_cuda_graph: ignored,
  token_step: ignored,
});

/** New requests are answered with the new weights from when this answers; those in flight end with what they began with. */
export async function updateWeights(serving: Serving, exchange: Exchange): Promise<void> {
  const body = parseBody(updateSchema, await exchange.json());
  const outcome = (success: boolean, message: string): void =>
    exchange.sendJson(success ? 200 : 400, { success, message, num_paused_requests: 0 });
  try {
    const found = await findWeights(body.model_path, serving.model.config);
    if (body.abort_all_requests) serving.dispatcher.abort();
    await serving.weights.update(found, body.weight_version ?? undefined);
    outcome(true, `Succeeded to update model weights to version ${serving.weights.version}.`);
  } catch (error) {
    outcome(false, toHttpError(error).message);
  }
}

const versionSchema = z.strictObject({
  new_version: z.string().min(1),
  abort_all_requests: z.boolean().default(true),
});

/** Gives the current weights another name. */
export async function updateWeightVersion(serving: Serving, exchange: Exchange): Promise<void> {
  const { new_version, abort_all_requests } = parseBody(versionSchema, await exchange.json());
  if (abort_all_requests) serving.dispatcher.abort();
  serving.weights.setVersion(new_version);
  exchange.sendJson(200, { success: true, message: `Weight version updated to ${new_version}`, new_version });
}

export function getWeightVersion({ weights }: Serving, exchange: Exchange): void {
  exchange.sendJson(200, { weight_version: weights.version });
}

const pauseSchema = z.strictObject({
  mode: z
    .enum(['abort'], { message: "expected 'abort': a request cannot go on after a pause here" })
    .default('abort'),
});

/** Ends what is in flight with what it has. Requests that come during the pause wait for its end. */
export async function pauseGeneration({ dispatcher }: Serving, exchange: Exchange): Promise<void> {
  parseBody(pauseSchema, await exchange.json());
  dispatcher.pause();
  dispatcher.abort();
  await dispatcher.idle();
  exchange.sendJson(200, { message: 'Generation paused successfully.', status: 'ok' });
}

const continueSchema = z.strictObject({ torch_empty_cache: ignored });

export async function continueGeneration({ dispatcher }: Serving, exchange: Exchange): Promise<void> {
  parseBody(continueSchema, await exchange.json());
  dispatcher.resume();
  exchange.sendJson(200, { message: 'Generation continued successfully.', status: 'ok' });
}

const abortSchema = z.strictObject({ rid: z.string().default(''), abort_all: z.boolean().default(false) });

/** An id that no request has is no error: the request may just have ended. */
export async function abortRequest({ dispatcher }: Serving, exchange: Exchange): Promise<void> {
  const { rid, abort_all } = parseBody(abortSchema, await exchange.json());
  if (rid === '' && !abort_all) {
    throw new HttpError(400, 'rid is missing, expected one, or abort_all: true', { param: 'rid' });
  }
  dispatcher.abort(abort_all ? undefined : rid);
  exchange.send(200, 'text/plain', '');
}

/** Drops what was kept of earlier prompts, unless requests are in flight. */
export async function flushCache({ dispatcher, engine }: Serving, exchange: Exchange): Promise<void> {
  const inFlight = await dispatcher.whilePaused(async () => {
    if (dispatcher.begun === 0) await engine.release(['cache']);
    return dispatcher.begun;
  });
  exchange.send(
    inFlight === 0 ? 200 : 400,
    'text/plain',
    inFlight === 0 ? 'Cache flushed.\n' : `Cache not flushed: ${inFlight} requests are in flight.\n`,
  );
}

const tags = z.enum(['weights', 'kv_cache', 'cuda_graph']);
const memorySchema = z.strictObject({ tags: z.array(tags).nonempty().nullish() });

function memoryParts(body: unknown): EngineMemory[] {
  const named = parseBody(memorySchema, body).tags ?? tags.options;
  return named.flatMap((tag) => (tag === 'weights' ? ['weights'] : tag === 'kv_cache' ? ['cache'] : []));
}

/** @throws HttpError 400 while requests are in flight. */
export async function releaseMemory({ dispatcher, weights }: Serving, exchange: Exchange): Promise<void> {
  const parts = memoryParts(await exchange.json());
  await dispatcher.whilePaused(async () => {
    if (dispatcher.begun > 0) {
      throw new HttpError(400, `${dispatcher.begun} requests are in flight: pause generation first`);
    }
    await weights.release(parts);
  });
  exchange.send(200, 'text/plain', '');
}

export async function resumeMemory({ weights }: Serving, exchange: Exchange): Promise<void> {
  await weights.resume(memoryParts(await exchange.json()));
  exchange.send(200, 'text/plain', '');
}
