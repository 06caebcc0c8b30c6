/**
 * Continuous batching: sequences of all requests share a fixed number of slots, and a finished one makes room for the next.
 *
 * The tokens and log-probs of a sample depend on the weights, its prompt, its seed and the sampling settings, bit for bit; not
 * on its slot, on what else is being decoded, on the order of arrival, or on which samples of a group are asked for.
 * One weight set is in use at a time: a request for another one waits until the slots are empty.
 */
import type { DeviceName } from '../../core/devices.ts';
import { RekindleError } from '../../core/errors.ts';
import { uniformAt } from '../../core/seeds.ts';
import type { Completion, GenerationRequest } from '../engine-port.ts';
import type { DecoderConfig } from '../model/decoder-config.ts';
import { Decoder } from './decoder.ts';
import { GenerationJob, type Sequence } from './generation-job.ts';
import { openPlace } from './open-place.ts';
import { Prefill } from './prefill.ts';
import { chooseToken } from './sampler.ts';
import type { Tensor } from './session.ts';
import type { TensorPlace } from './tensor-place.ts';

export interface GeneratorOptions {
  threads: number;
  slots: number;
  /** Default: `cpu`. */
  device?: DeviceName;
}

export class Generator {
  readonly #config: DecoderConfig;
  readonly #place: TensorPlace;
  readonly #decoder: Decoder;
  readonly #prefill: Prefill;
  readonly #slots: (Sequence | null)[];
  #queue: GenerationJob[] = [];
  #loop: Promise<void> | undefined;
  #busySeconds = 0;

  constructor(config: DecoderConfig, options: GeneratorOptions) {
    this.#config = config;
    this.#place = openPlace(options.device);
    this.#decoder = new Decoder(config, this.#place, options);
    this.#prefill = new Prefill(config, this.#place, options.threads);
    this.#slots = new Array<Sequence | null>(options.slots).fill(null);
  }

  /** Seconds spent generating since the start. */
  get busySeconds(): number {
    return this.#busySeconds;
  }

  /**
   * Generates every sample of the request; `onCompletions` hears of each as it finishes. Gives the event loop a turn after
   * each step. Rejects with the signal's reason when aborted, with EngineError when the request cannot be served.
   */
  async generate(
    weights: Readonly<Record<string, Tensor>>,
    request: GenerationRequest,
    onCompletions: (completions: Completion[]) => void,
    signal?: AbortSignal,
  ): Promise<void> {
    signal?.throwIfAborted();
    const job = new GenerationJob(this.#config, weights, request, onCompletions);
    const abort = (): void => job.fail(signal?.reason);
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
    this.#decoder.close();
    this.#prefill.close();
    this.#place.close();
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0) {
      const began = performance.now();
      try {
        this.#iterate();
      } catch (error) {
        for (const job of this.#queue) job.fail(error);
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
      if (sequence?.job.ended) this.#release(slot);
    });
    const weights = this.#admit();
    if (!weights) return;
    this.#decoder.step(this.#place.inUse(weights));
    this.#deliver(this.#advance());
  }

  /** Starts as many samples as there are free slots, and gives the weights in use, or null when no slot is busy. */
  #admit(): Readonly<Record<string, Tensor>> | null {
    let weights = this.#slots.find((sequence) => sequence !== null)?.job.weights ?? null;
    let slot = 0;
    for (const job of this.#queue) {
      if (!job.hasMoreToStart) continue;
      weights ??= job.weights;
      if (job.weights !== weights) break;
      this.#decoder.reserve(job.positions);
      for (; job.hasMoreToStart && slot < this.#slots.length; slot++) {
        if (this.#slots[slot] === null) this.#start(slot, job);
      }
    }
    return weights;
  }

  #start(slot: number, job: GenerationJob): void {
    const missing = job.promptsToPrefill();
    if (missing.length > 0) {
      const prefilled = this.#prefill.run(this.#place.inUse(job.weights), job.prefixes(missing));
      missing.forEach((prompt, i) => job.keepPrefix(prompt, prefilled[i]!));
    }
    const sequence = job.start((prefix) => this.#decoder.fill(slot, prefix));
    this.#slots[slot] = sequence;
    this.#feed(slot, sequence);
  }

  /** Feeds the last token of a sequence into its slot. */
  #feed(slot: number, { job, promptIds, ids }: Sequence): void {
    const { temperature } = job.sampling;
    const last = ids.at(-1) ?? promptIds.at(-1)!;
    const position = promptIds.length + ids.length - 1;
    this.#decoder.feed(slot, last, position, temperature === 0 ? 1 : temperature);
  }

  #release(slot: number): void {
    this.#slots[slot] = null;
    this.#decoder.idle(slot);
  }

  /** Samples the next token of every sequence; returns those that finished, by request. */
  #advance(): Map<GenerationJob, Completion[]> {
    const finished = new Map<GenerationJob, Completion[]>();
    this.#slots.forEach((sequence, slot) => {
      if (!sequence) return;
      const { job, seed, ids, logprobs, prompt, sample } = sequence;
      try {
        const uniform = job.sampling.temperature === 0 ? 0 : uniformAt(seed, ids.length);
        const { id, logprob } = chooseToken(this.#decoder.output, slot, job.sampling, uniform);
        ids.push(id);
        logprobs.push(logprob);
        const stopped = job.stopIds.has(id);
        if (!stopped && ids.length < job.sampling.maxNewTokens) {
          this.#feed(slot, sequence);
          return;
        }
        const completions = finished.get(job) ?? [];
        completions.push({ prompt, sample, ids, logprobs, finish: stopped ? 'stop' : 'length' });
        finished.set(job, completions);
      } catch (error) {
        job.fail(error);
      }
      this.#release(slot);
    });
    return finished;
  }

  #deliver(finished: Map<GenerationJob, Completion[]>): void {
    for (const [job, completions] of finished) {
      try {
        job.complete(completions);
      } catch (error) {
        job.fail(error);
      }
    }
  }
}
