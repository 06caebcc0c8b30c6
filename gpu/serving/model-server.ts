/**
 * A model behind HTTP: SGLang's native endpoints and OpenAI's. A response is a function of weights, prompt, sampling settings
 * and seed; not of what else is served at the time.
 */
import type { Engine, WeightsSource } from '../engine-port.ts';
import { Dispatcher } from './dispatcher.ts';
import { Listener, type Handler } from './http/listener.ts';
import type { Exchange } from './http/exchange.ts';
import { ServingMetrics } from './metrics/serving-metrics.ts';
import { chat } from './openai/chat.ts';
import { completions } from './openai/completions.ts';
import { listModels, retrieveModel } from './openai/models.ts';
import { detokenize, tokenize } from './openai/tokenize.ts';
import type { ServedModel } from './served-model.ts';
import { ServedWeights } from './served-weights.ts';
import type { Serving } from './serving.ts';
import * as control from './sglang/control.ts';
import { generate } from './sglang/generate.ts';
import * as information from './sglang/information.ts';

export interface ServerSettings {
  host: string;
  /** 0 takes a free one. */
  port: number;
  /** Null serves on a loopback address only. */
  token: string | null;
  /** Samples that may wait for their first token. */
  maxWaiting: number;
  maxBodyBytes: number;
}

type Endpoint = (serving: Serving, exchange: Exchange) => Promise<void> | void;

/** By method and path. */
export const endpoints: Readonly<Record<string, Endpoint>> = {
  'GET /health': information.health,
  'GET /health_generate': information.healthGenerate,
  'GET /get_model_info': information.getModelInfo,
  'GET /get_server_info': information.getServerInfo,
  'GET /metrics': information.metrics,
  'POST /generate': generate,
  'GET /get_weight_version': control.getWeightVersion,
  'POST /update_weight_version': control.updateWeightVersion,
  'POST /update_weights_from_disk': control.updateWeights,
  'POST /pause_generation': control.pauseGeneration,
  'POST /continue_generation': control.continueGeneration,
  'POST /abort_request': control.abortRequest,
  'GET /flush_cache': control.flushCache,
  'POST /flush_cache': control.flushCache,
  'POST /release_memory_occupation': control.releaseMemory,
  'POST /resume_memory_occupation': control.resumeMemory,
  'GET /v1/models': listModels,
  'POST /v1/completions': completions,
  'POST /v1/chat/completions': chat,
  'POST /tokenize': tokenize,
  'POST /detokenize': detokenize,
};

export class ModelServer {
  readonly #serving: Serving;
  readonly #listener: Listener;

  private constructor(serving: Serving, listener: Listener) {
    this.#serving = serving;
    this.#listener = listener;
  }

  /**
   * Loads the weights, then listens.
   * @throws RekindleError UsageError, PortError, or as the engine's load
   */
  static async start(
    engine: Engine,
    model: ServedModel,
    weights: { source: WeightsSource; version: string },
    settings: ServerSettings,
  ): Promise<ModelServer> {
    const metrics = new ServingMetrics();
    const served = new ServedWeights(engine, weights);
    const dispatcher = new Dispatcher(engine, served, metrics, settings.maxWaiting);
    const started = Math.floor(Date.now() / 1000);
    const serving: Serving = { model, engine, weights: served, dispatcher, metrics, started };
    const routes = new Map(
      Object.entries({
        ...endpoints,
        [`GET /v1/models/${encodeURIComponent(model.name)}`]: retrieveModel,
      }).map(([route, endpoint]): [string, Handler] => [route, (exchange) => endpoint(serving, exchange)]),
    );
    await served.load();
    const { host, port, token, maxBodyBytes } = settings;
    const onAnswer = (path: string, status: number): void => metrics.answered(path, status);
    const listener = await Listener.open({ host, port, token, maxBodyBytes, onAnswer }, routes);
    return new ModelServer(serving, listener);
  }

  get port(): number {
    return this.#listener.port;
  }

  /** Accepts nothing more, lets what is in flight end for some seconds, then ends it with what it has. */
  async close(graceSeconds: number): Promise<void> {
    const { dispatcher } = this.#serving;
    this.#listener.stopAccepting();
    const timer = setTimeout(() => dispatcher.abort(), graceSeconds * 1000);
    await dispatcher.idle();
    clearTimeout(timer);
    dispatcher.abort();
    await this.#listener.end();
  }
}
