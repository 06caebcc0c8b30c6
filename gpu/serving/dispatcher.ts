/**
 * Requests on their way through the engine. A request waits while generation is paused, takes the weights that are current when
 * it begins, and is answered in full: an abort answers it with what has been generated.
 *
 * A sample waits until its first token; when too many wait, further requests are refused.
 */
import type { Completion, Engine, GenerationRequest, TokenDelta } from '../engine-port.ts';
import { HttpError } from './http/http-error.ts';
import type { ServingMetrics } from './metrics/serving-metrics.ts';
import type { ServedWeights } from './served-weights.ts';

/** What a request asks of the engine. */
export interface Generation extends Pick<GenerationRequest, 'prompts' | 'sampling' | 'report'> {
  /** The name that it can be aborted by. */
  id: string;
}

export interface Listeners {
  /** Called when the request takes its weights, before it is told of any token. */
  onBegin?: (weightVersion: string) => void;
  onTokens?: (deltas: TokenDelta[]) => void;
  onCompletions?: (completions: Completion[]) => void;
}

interface InFlight {
  id: string;
  abort: AbortController;
  /** Samples without a token yet. */
  waiting: number;
  unfinished: number;
  /** Whether it has taken its weights. */
  begun: boolean;
  over: Promise<void>;
}

const CALLER = Symbol('the caller');

export class Dispatcher {
  readonly #engine: Engine;
  readonly #weights: ServedWeights;
  readonly #metrics: ServingMetrics;
  readonly #maxWaiting: number;
  readonly #inFlight = new Set<InFlight>();
  /** Who keeps requests from beginning: the caller of `pause`, and each `whilePaused` that goes on. */
  readonly #holds = new Set<unknown>();
  /** While there are holds: ends with the last. */
  #pause: { over: Promise<void>; end: () => void } | undefined;

  constructor(engine: Engine, weights: ServedWeights, metrics: ServingMetrics, maxWaiting: number) {
    this.#engine = engine;
    this.#weights = weights;
    this.#metrics = metrics;
    this.#maxWaiting = maxWaiting;
  }

  get paused(): boolean {
    return this.#holds.has(CALLER);
  }

  /** Requests that the engine works on; those that wait for the end of a pause do not count. */
  get begun(): number {
    return this.#count(({ begun }) => Number(begun));
  }

  /** Samples that have no token yet. */
  get waiting(): number {
    return this.#count(({ waiting }) => waiting);
  }

  /** Samples that have a token and are not finished. */
  get running(): number {
    return this.#count(({ unfinished, waiting }) => unfinished - waiting);
  }

  /**
   * Generates all samples of a request; gives them by prompt and then by sample.
   * @throws HttpError 429 when too many samples wait, 503 while memory is released; RekindleError as the engine.
   */
  async generate(
    { id, prompts, sampling, report }: Generation,
    signal: AbortSignal,
    listeners: Listeners = {},
  ): Promise<Completion[]> {
    this.#weights.current();
    if (this.waiting >= this.#maxWaiting) {
      throw new HttpError(429, `${this.waiting} samples wait already, at most ${this.#maxWaiting} may`, {
        code: 'queue_full',
        retryAfter: 1,
      });
    }
    const samples = prompts.reduce((total, { seeds }) => total + seeds.length, 0);
    let settle!: () => void;
    const over = new Promise<void>((resolve) => (settle = resolve));
    const counts = { waiting: samples, unfinished: samples, begun: false };
    const request: InFlight = { id, abort: new AbortController(), ...counts, over };
    this.#inFlight.add(request);
    const ended = AbortSignal.any([signal, request.abort.signal]);
    const clock = this.#metrics.begin(prompts);
    try {
      await this.#pauseOver(ended);
      const { source, version } = this.#weights.current();
      request.begun = true;
      listeners.onBegin?.(version);
      const completions: Completion[] = [];
      const onCompletions = (finished: Completion[]): void => {
        completions.push(...finished);
        request.unfinished -= finished.length;
        request.waiting = Math.min(request.waiting, request.unfinished);
        listeners.onCompletions?.(finished);
      };
      if (ended.aborted) onCompletions(empty(prompts, 'abort'));
      else if (sampling.maxNewTokens === 0) onCompletions(await this.#score(source.tag, prompts));
      else {
        await this.#engine.generate(
          { weights: source.tag, prompts, sampling, ...(report && { report }), onAbort: 'complete' },
          onCompletions,
          ended,
          (deltas) => {
            request.waiting -= clock.tokens(deltas);
            listeners.onTokens?.(deltas);
          },
        );
      }
      return completions.sort((a, b) => a.prompt - b.prompt || a.sample - b.sample);
    } finally {
      clock.end();
      this.#inFlight.delete(request);
      settle();
    }
  }

  /** Ends requests with what they have; every one when no id is given. */
  abort(id?: string): void {
    for (const request of this.#inFlight) if (id === undefined || request.id === id) request.abort.abort();
  }

  /** Lets no request begin until `resume`. */
  pause(): void {
    this.#hold(CALLER);
  }

  resume(): void {
    this.#release(CALLER);
  }

  /** Does something while no request begins, whatever is paused and resumed meanwhile. */
  async whilePaused<T>(work: () => Promise<T>): Promise<T> {
    this.#hold(work);
    try {
      return await work();
    } finally {
      this.#release(work);
    }
  }

  /** Resolves when the requests that the engine works on now are over. */
  async idle(): Promise<void> {
    await Promise.all([...this.#inFlight].filter(({ begun }) => begun).map(({ over }) => over));
  }

  /** Samples of no token, with the log-probs of their prompts. */
  async #score(weights: string, prompts: GenerationRequest['prompts']): Promise<Completion[]> {
    const lengths = prompts.map(({ ids }) => ids.length);
    const ids = Int32Array.from(prompts.flatMap((prompt) => prompt.ids));
    const trained = new Uint8Array(ids.length).fill(1);
    let start = 0;
    const starts = lengths.map((length) => (start += length) - length);
    for (const first of starts) trained[first] = 0;
    const rows = { ids, rowLengths: Int32Array.from(lengths), trained };
    const logprobs = await this.#engine.score(weights, rows, 1);
    return empty(prompts, 'length').map((completion) => {
      const first = starts[completion.prompt]!;
      const promptLogprobs = [...logprobs.subarray(first + 1, first + lengths[completion.prompt]!)];
      return { ...completion, promptLogprobs };
    });
  }

  async #pauseOver(ended: AbortSignal): Promise<void> {
    while (this.#pause && !ended.aborted) {
      const aborted = new Promise<void>((resolve) =>
        ended.addEventListener('abort', () => resolve(), { once: true }),
      );
      await Promise.race([this.#pause.over, aborted]);
    }
  }

  #hold(holder: unknown): void {
    this.#holds.add(holder);
    if (this.#pause) return;
    let end!: () => void;
    const over = new Promise<void>((resolve) => (end = resolve));
    this.#pause = { over, end };
  }

  #release(holder: unknown): void {
    this.#holds.delete(holder);
    if (this.#holds.size > 0) return;
    this.#pause?.end();
    this.#pause = undefined;
  }

  #count(part: (request: InFlight) => number): number {
    let total = 0;
    for (const request of this.#inFlight) total += part(request);
    return total;
  }
}

/** Samples of no token. */
function empty(prompts: GenerationRequest['prompts'], finish: Completion['finish']): Completion[] {
  return prompts.flatMap(({ seeds }, prompt) =>
    seeds.map((_, sample) => ({ prompt, sample, ids: [], logprobs: [], finish })),
  );
}
