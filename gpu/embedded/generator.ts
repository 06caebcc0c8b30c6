/**
 * Continuous batching: sequences of all requests share a number of slots, and a finished one makes room for the next.
 *
 * The tokens and log-probs of a sample depend on the weights, its prompt, its seed and the sampling settings, bit for bit; not
 * on its slot, on what else is being decoded, on the order of arrival, on the number of slots or threads, on which samples of a
 * group are asked for, or on what the engine has seen before.
 * One weight set is in use at a time: a request for another one waits until the slots are empty.
 */
import type { DeviceName } from '../../core/devices.ts';
import { RekindleError } from '../../core/errors.ts';
import type { Completion, GenerationRequest, TokenDelta } from '../engine-port.ts';
import type { DecoderConfig } from '../model/decoder-config.ts';
import type { Tokenizer } from '../tokenizer/index.ts';
import { Decoder } from './decoder.ts';
import { singleTokensDiffer } from './forward-graph.ts';
import { ForwardPass, type Weights } from './forward-pass.ts';
import { GenerationJob } from './generation-job.ts';
import { openPlace } from './open-place.ts';
import { CHUNK_TOKENS, Prefill, type Prompt } from './prefill.ts';
import { PrefixCache, sharedLength } from './prefix-cache.ts';
import type { Sequence } from './sequence.ts';
import type { NextToken } from './step-output.ts';
import { stopRule } from './stop-rule.ts';
import type { TensorPlace } from './tensor-place.ts';

/** A prompt that shares fewer tokens than this is sooner run as a whole, together with others. */
const WORTH_SHARING = 64;

/** Keys and values that are kept of prompts for later ones, at most; those in use come on top. */
const KEPT_PREFIX_BYTES = 2 ** 28;

export interface GeneratorOptions {
  threads: number;
  /** Sequences decoded together, at most. */
  slots: number;
  /** Default: `cpu`. */
  device?: DeviceName;
  /** Default: none, and requests with stop strings are refused. */
  tokenizer?: Pick<Tokenizer, 'decode'> | undefined;
  /** As in SessionOptions. */
  profilePrefix?: string;
}

export class Generator {
  readonly #config: DecoderConfig;
  readonly #place: TensorPlace;
  readonly #forward: ForwardPass;
  readonly #decoder: Decoder;
  readonly #prefill: Prefill;
  readonly #prefixes: PrefixCache;
  readonly #tokenizer: GeneratorOptions['tokenizer'];
  readonly #slots: (Sequence<GenerationJob> | null)[];
  readonly #news = new Map<GenerationJob, { deltas: TokenDelta[]; completions: Completion[] }>();
  #weights: Weights | undefined;
  #queue: GenerationJob[] = [];
  #loop: Promise<void> | undefined;
  #busySeconds = 0;

  constructor(config: DecoderConfig, options: GeneratorOptions) {
    this.#config = config;
    this.#place = openPlace(options.device);
    this.#forward = new ForwardPass(config, this.#place, options);
    this.#decoder = new Decoder(config, this.#place, this.#forward, options.slots);
    this.#prefill = new Prefill(config, this.#place, this.#forward);
    const bytesPerToken = 4 * 2 * config.layers * config.kvHeads * config.headSize;
    this.#prefixes = new PrefixCache({
      bytes: KEPT_PREFIX_BYTES,
      bytesPerToken,
      shortest: WORTH_SHARING,
    });
    this.#tokenizer = options.tokenizer;
    this.#slots = new Array<Sequence<GenerationJob> | null>(options.slots).fill(null);
  }

  /** Seconds spent generating since the start. */
  get busySeconds(): number {
    return this.#busySeconds;
  }

  /** Bytes of keys and values that are held. */
  get cacheBytes(): number {
    return this.#decoder.bytes + this.#prefixes.bytes;
  }

  /**
   * Generates every sample of the request; `onCompletions` hears of each as it finishes, `onTokens` of every token. Gives the
   * event loop a turn after each step. When aborted, rejects with the signal's reason, or as the request says; with EngineError
   * when the request cannot be served.
   */
  async generate(
    weights: Weights,
    request: GenerationRequest,
    onCompletions: (completions: Completion[]) => void,
    signal?: AbortSignal,
    onTokens?: (deltas: TokenDelta[]) => void,
  ): Promise<void> {
    if (request.onAbort !== 'complete') signal?.throwIfAborted();
    const { stopStrings = [] } = request.sampling;
    if (stopStrings.length > 0 && !this.#tokenizer) {
      throw new RekindleError('EngineError', 'stop strings need a tokenizer, and the engine was given none', {
        hint: 'Open the engine with the files of the tokenizer, or use stop ids.',
        permanent: true,
      });
    }
    const rule = stopRule(request.sampling, this.#tokenizer);
    const listeners = { onCompletions, onTokens };
    const job = new GenerationJob(this.#config, weights, request, rule, listeners, (prefix) =>
      this.#prefixes.unpin(prefix),
    );
    const abort = (): void => this.#abort(job, signal?.reason);
    if (signal?.aborted) abort();
    signal?.addEventListener('abort', abort, { once: true });
    this.#queue.push(job);
    this.#loop ??= this.#run();
    try {
      await job.finished;
    } finally {
      signal?.removeEventListener('abort', abort);
    }
  }

  /** Fails what is in flight and releases the sessions. */
  async close(): Promise<void> {
    for (const job of this.#queue) job.fail(new RekindleError('EngineError', 'the engine was closed'));
    await this.#loop;
    this.#forget();
    this.#decoder.close();
    this.#forward.close();
    this.#place.close();
  }

  #abort(job: GenerationJob, reason: unknown): void {
    job.abort(
      reason,
      this.#slots.filter((sequence) => sequence?.job === job).map((sequence) => sequence!),
    );
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0) {
      const began = performance.now();
      try {
        this.#iterate();
      } catch (error) {
        this.#news.clear();
        for (const job of this.#queue) job.fail(error);
        // A step that failed has written some of its keys and values, or none.
        this.#forget();
      }
      this.#busySeconds += (performance.now() - began) / 1000;
      await new Promise((resolve) => setImmediate(resolve));
    }
    this.#loop = undefined;
  }

  /** Drops what has ended, fills free slots, decodes one token of every busy slot. */
  #iterate(): void {
    this.#queue = this.#queue.filter((job) => !job.ended);
    this.#slots.forEach((sequence, slot) => {
      if (sequence?.job.ended) this.#slots[slot] = null;
    });
    this.#admit();
    const busy = this.#gather();
    if (busy.length > 0) {
      const feeds = busy.map((row) => {
        const { lastId: id, temperature } = this.#slots[row]!;
        return { row, id, temperature };
      });
      const output = this.#decoder.step(this.#weights!, feeds);
      busy.forEach((slot, i) => {
        if (this.#advance(this.#slots[slot]!, output.next[i]!)) this.#slots[slot] = null;
      });
    }
    this.#deliver();
  }

  /** Starts as many samples as there are free slots, of the weights in use, or of the first request's when no slot is busy. */
  #admit(): void {
    for (const job of this.#queue) {
      if (!job.hasMoreToStart) continue;
      if (job.weights !== this.#weights) {
        if (this.#slots.some((sequence) => sequence !== null)) return;
        this.#forget();
        this.#weights = job.weights;
      }
      this.#decoder.reserve(job.positions);
      for (let slot = this.#slots.indexOf(null); slot >= 0 && job.hasMoreToStart;) {
        this.#start(slot, job);
        slot = this.#slots.indexOf(null);
      }
    }
  }

  #start(slot: number, job: GenerationJob): void {
    const missing = job.promptsToRun(CHUNK_TOKENS);
    const prompts = missing.map((prompt) => this.#promptOf(job, prompt));
    this.#prefill.run(job.weights, prompts).forEach(({ keysAndValues, next, logprobs }, i) => {
      const prefix = this.#prefixes.add(prompts[i]!.ids, keysAndValues);
      job.keep(missing[i]!, { prefix, next, logprobs });
    });
    job.start((sequence, { prefix, next }) => {
      if (this.#advance(sequence, next)) return;
      this.#decoder.fill(slot, prefix.ids, prefix.keysAndValues);
      this.#slots[slot] = sequence;
    });
  }

  /** The prompt, with the longest beginning whose keys and values are at hand. */
  #promptOf(job: GenerationJob, prompt: number): Prompt {
    const ids = job.promptIds(prompt);
    const { promptLogprobs: logprobs = false } = job.report;
    const temperature = job.sampling.temperature === 0 ? 1 : job.sampling.temperature;
    // The last token is run in any case, for what follows it; with log-probs, all are.
    const known = logprobs ? null : this.#known(ids.slice(0, -1));
    return { ids, temperature, known, logprobs };
  }

  #known(ids: readonly number[]): Prompt['known'] {
    if (ids.length < WORTH_SHARING) return null;
    const kept = this.#prefixes.longest(ids) ?? { prefix: null, shared: 0 };
    const row = this.#longestRow(ids);
    if (Math.max(kept.shared, row.shared) < WORTH_SHARING) return null;
    if (kept.prefix && kept.shared >= row.shared) {
      const { keysAndValues, ids: all } = kept.prefix;
      return { keysAndValues, positions: all.length, shared: kept.shared, written: () => {} };
    }
    const keysAndValues = this.#decoder.read(row.index);
    const written = (): void => keysAndValues.release();
    const positions = this.#decoder.contents[row.index]!.length;
    return { keysAndValues, positions, shared: row.shared, written };
  }

  /** The row of the decoder that shares most tokens with the beginning of `ids`, where such a row is as good as a prompt. */
  #longestRow(ids: readonly number[]): { index: number; shared: number } {
    const best = { index: 0, shared: 0 };
    if (singleTokensDiffer(this.#config)) return best;
    this.#decoder.contents.forEach((contents, index) => {
      const shared = sharedLength(contents, ids);
      if (shared > best.shared) Object.assign(best, { index, shared });
    });
    return best;
  }

  /** The busy slots in ascending order, after moving sequences together when half of the rows that a step would run are free. */
  #gather(): number[] {
    const busySlots = (): number[] => [...this.#slots.keys()].filter((slot) => this.#slots[slot] !== null);
    const busy = busySlots();
    if (2 * busy.length > (busy.at(-1) ?? 0) + 1) return busy;
    for (const from of busy.toReversed()) {
      const to = this.#slots.indexOf(null);
      if (to > from) break;
      this.#decoder.move(from, to);
      this.#slots[to] = this.#slots[from]!;
      this.#slots[from] = null;
    }
    return busySlots();
  }

  /** Samples the next token of a sequence; true when it has ended. */
  #advance(sequence: Sequence<GenerationJob>, next: NextToken): boolean {
    const { job } = sequence;
    try {
      const { delta, finish } = sequence.advance(next);
      const news = this.#news.get(job) ?? { deltas: [], completions: [] };
      if (job.streams) news.deltas.push(delta);
      if (finish !== null) news.completions.push(sequence.completion(finish));
      this.#news.set(job, news);
      return finish !== null;
    } catch (error) {
      // Weights that give numbers which are not finite serve no request, and what they left in the caches spreads.
      for (const other of this.#queue) if (other.weights === job.weights) other.fail(error);
      this.#forget();
      return true;
    }
  }

  /** Drops all keys and values. */
  #forget(): void {
    this.#decoder.reset();
    this.#prefill.reset();
    this.#prefixes.clear();
  }

  #deliver(): void {
    const news = [...this.#news];
    this.#news.clear();
    for (const [job, { deltas, completions }] of news) job.deliver(deltas, completions);
  }
}
