/**
 * The state of one generation request: which of its samples are to start, which prompts have been run, how many completions are
 * out. Samples start in the order of the request.
 */
import type { DecoderConfig } from '../model/decoder-config.ts';
import type { Completion, GenerationRequest, Sampling, TokenDelta } from '../engine-port.ts';
import { checkRequest } from './check-request.ts';
import type { Weights } from './forward-pass.ts';
import type { KeptPrefix } from './prefix-cache.ts';
import { Sequence } from './sequence.ts';
import type { NextToken } from './step-output.ts';
import type { StopRule } from './stop-rule.ts';

/** A prompt that has been run, until its last sample has started. */
export interface StartedPrompt {
  prefix: KeptPrefix;
  next: NextToken;
  logprobs: number[];
}

export interface JobListeners {
  onCompletions: (completions: Completion[]) => void;
  onTokens?: ((deltas: TokenDelta[]) => void) | undefined;
}

export class GenerationJob {
  readonly weights: Weights;
  readonly sampling: Sampling;
  readonly report: NonNullable<GenerationRequest['report']>;
  /** Longest sequence of the request, prompt and response. */
  readonly positions: number;
  readonly finished: Promise<void>;
  readonly #prompts: GenerationRequest['prompts'];
  readonly #completesAborted: boolean;
  readonly #stopRule: StopRule;
  readonly #started = new Map<number, StartedPrompt>();
  readonly #listeners: JobListeners;
  readonly #unpin: (prefix: KeptPrefix) => void;
  #resolve!: () => void;
  #reject!: (error: unknown) => void;
  #nextPrompt = 0;
  #nextSample = 0;
  #unfinished: number;
  #ended = false;

  /**
   * @param unpin Called for each prompt's prefix when the job needs it no more.
   * @throws RekindleError EngineError for a request that can never be served.
   */
  constructor(
    config: DecoderConfig,
    weights: Weights,
    request: GenerationRequest,
    stopRule: StopRule,
    listeners: JobListeners,
    unpin: (prefix: KeptPrefix) => void,
  ) {
    checkRequest(config, request);
    this.weights = weights;
    this.sampling = request.sampling;
    this.report = request.report ?? {};
    this.positions =
      request.sampling.maxNewTokens + Math.max(0, ...request.prompts.map(({ ids }) => ids.length));
    this.#prompts = request.prompts;
    this.#completesAborted = request.onAbort === 'complete';
    this.#stopRule = stopRule;
    this.#listeners = listeners;
    this.#unpin = unpin;
    this.#unfinished = request.prompts.reduce((sum, { seeds }) => sum + seeds.length, 0);
    this.finished = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#skipPromptsWithoutSamples();
    if (this.#unfinished === 0) this.#end(() => this.#resolve());
  }

  /** True once all completions are out, or the job was ended by an error. */
  get ended(): boolean {
    return this.#ended;
  }

  get hasMoreToStart(): boolean {
    return !this.#ended && this.#nextPrompt < this.#prompts.length;
  }

  get streams(): boolean {
    return this.#listeners.onTokens !== undefined;
  }

  /**
   * The prompts to run before the next sample can start: none when that has been done, else the next one and more that follow it,
   * up to `tokens` in all.
   */
  promptsToRun(tokens: number): number[] {
    if (this.#started.has(this.#nextPrompt)) return [];
    const chosen: number[] = [];
    let left = tokens;
    for (let prompt = this.#nextPrompt; prompt < this.#prompts.length; prompt++) {
      const { ids, seeds } = this.#prompts[prompt]!;
      left -= ids.length;
      if (chosen.length > 0 && left < 0) break;
      if (seeds.length > 0) chosen.push(prompt);
    }
    return chosen;
  }

  promptIds(prompt: number): readonly number[] {
    return this.#prompts[prompt]!.ids;
  }

  keep(prompt: number, started: StartedPrompt): void {
    this.#started.set(prompt, started);
  }

  /** Starts the next sample, whose prompt has been run. `fill` is told of that before the prompt is let go. */
  start(fill: (sequence: Sequence<GenerationJob>, prompt: StartedPrompt) => void): void {
    const prompt = this.#nextPrompt;
    const sample = this.#nextSample++;
    const { ids, seeds } = this.#prompts[prompt]!;
    const started = this.#started.get(prompt)!;
    fill(
      new Sequence(
        this,
        { prompt, sample, promptIds: ids, seed: seeds[sample]! },
        this.#stopRule,
        started.logprobs,
      ),
      started,
    );
    if (this.#nextSample === seeds.length) {
      this.#started.delete(prompt);
      this.#unpin(started.prefix);
      this.#nextSample = 0;
      this.#nextPrompt++;
      this.#skipPromptsWithoutSamples();
    }
  }

  #skipPromptsWithoutSamples(): void {
    while (this.#prompts[this.#nextPrompt]?.seeds.length === 0) this.#nextPrompt++;
  }

  /** Reports new tokens and completions; an error in a listener fails the job. */
  deliver(deltas: TokenDelta[], completions: Completion[]): void {
    if (this.#ended) return;
    try {
      if (deltas.length > 0) this.#listeners.onTokens?.(deltas);
      if (completions.length > 0) this.#listeners.onCompletions(completions);
    } catch (error) {
      this.fail(error);
      return;
    }
    this.#unfinished -= completions.length;
    if (this.#unfinished === 0) this.#end(() => this.#resolve());
  }

  fail(error: unknown): void {
    this.#end(() => this.#reject(error));
  }

  /** Ends the job: with the reason, or with what there is of each sample if the request asks for that. */
  abort(reason: unknown, running: readonly Sequence<GenerationJob>[]): void {
    if (this.#ended) return;
    if (!this.#completesAborted) {
      this.fail(reason);
      return;
    }
    const completions = running.map((sequence) => sequence.completion('abort'));
    for (let prompt = this.#nextPrompt; prompt < this.#prompts.length; prompt++) {
      const first = prompt === this.#nextPrompt ? this.#nextSample : 0;
      const { ids, seeds } = this.#prompts[prompt]!;
      const logprobs = this.#started.get(prompt)?.logprobs ?? [];
      seeds.slice(first).forEach((seed, i) => {
        const place = { prompt, sample: first + i, promptIds: ids, seed };
        completions.push(new Sequence(this, place, this.#stopRule, logprobs).completion('abort'));
      });
    }
    this.deliver([], completions);
  }

  #end(settle: () => void): void {
    if (this.#ended) return;
    this.#ended = true;
    for (const { prefix } of this.#started.values()) this.#unpin(prefix);
    this.#started.clear();
    settle();
  }
}
