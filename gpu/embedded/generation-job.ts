/**
 * The state of one generation request: which of its samples are to start, which prompts have been prefilled, how many
 * completions are out. Samples start in the order of the request.
 */
import { RekindleError } from '../../core/errors.ts';
import type { Seed } from '../../core/seeds.ts';
import type { DecoderConfig } from '../model/decoder-config.ts';
import type { Completion, GenerationRequest, Sampling } from '../engine-port.ts';
import type { KvPrefix } from './kv-cache.ts';
import { paddedLength, rowsAtOnce } from './prefill.ts';
import type { Tensor } from './session.ts';

/** A sample about to start or decoding. */
export interface Sequence {
  job: GenerationJob;
  prompt: number;
  sample: number;
  seed: Seed;
  /** Prompt tokens. */
  promptIds: readonly number[];
  ids: number[];
  logprobs: number[];
}

/** All of a prompt but its last token, which the first decode step takes. */
function prefixOf(promptIds: readonly number[]): readonly number[] {
  return promptIds.slice(0, -1);
}

export class GenerationJob {
  readonly weights: Readonly<Record<string, Tensor>>;
  readonly sampling: Sampling;
  readonly stopIds: ReadonlySet<number>;
  /** Longest sequence of the request, prompt and response. */
  readonly positions: number;
  readonly finished: Promise<void>;
  readonly #prompts: GenerationRequest['prompts'];
  readonly #maxPositions: number;
  readonly #prefixes = new Map<number, KvPrefix>();
  readonly #onCompletions: (completions: Completion[]) => void;
  #resolve!: () => void;
  #reject!: (error: unknown) => void;
  #nextPrompt = 0;
  #nextSample = 0;
  #unfinished: number;
  #ended = false;

  constructor(
    config: DecoderConfig,
    weights: Readonly<Record<string, Tensor>>,
    request: GenerationRequest,
    onCompletions: (completions: Completion[]) => void,
  ) {
    checkRequest(config, request);
    this.weights = weights;
    this.sampling = request.sampling;
    this.stopIds = new Set(request.sampling.stopIds);
    this.positions =
      request.sampling.maxNewTokens + Math.max(0, ...request.prompts.map(({ ids }) => ids.length));
    this.#prompts = request.prompts;
    this.#maxPositions = config.maxPositions;
    this.#onCompletions = onCompletions;
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

  /** The prompts to prefill before the next sample can start; none when its prefix is at hand or empty. */
  promptsToPrefill(): number[] {
    const first = this.#prefix(this.#nextPrompt);
    if (first.length === 0 || this.#prefixes.has(this.#nextPrompt)) return [];
    const length = paddedLength(first.length, this.#maxPositions);
    const chosen: number[] = [];
    for (let i = this.#nextPrompt; i < this.#prompts.length && chosen.length < rowsAtOnce(length); i++) {
      const { length: tokens } = this.#prefix(i);
      if (tokens > 0 && !this.#prefixes.has(i) && paddedLength(tokens, this.#maxPositions) === length) {
        chosen.push(i);
      }
    }
    return chosen;
  }

  #prefix(prompt: number): readonly number[] {
    return prefixOf(this.#prompts[prompt]!.ids);
  }

  prefixes(prompts: readonly number[]): (readonly number[])[] {
    return prompts.map((prompt) => this.#prefix(prompt));
  }

  keepPrefix(prompt: number, keysAndValues: KvPrefix): void {
    this.#prefixes.set(prompt, keysAndValues);
  }

  /** The next sample; `fill` gets the keys and values of its prompt's prefix, unless the prompt is one token. */
  start(fill: (prefix: KvPrefix) => void): Sequence {
    const prompt = this.#nextPrompt;
    const sample = this.#nextSample++;
    const { ids, seeds } = this.#prompts[prompt]!;
    const prefix = this.#prefixes.get(prompt);
    if (prefix) fill(prefix);
    if (this.#nextSample === seeds.length) {
      prefix?.release();
      this.#prefixes.delete(prompt);
      this.#nextSample = 0;
      this.#nextPrompt++;
      this.#skipPromptsWithoutSamples();
    }
    return { job: this, prompt, sample, seed: seeds[sample]!, promptIds: ids, ids: [], logprobs: [] };
  }

  #skipPromptsWithoutSamples(): void {
    while (this.#prompts[this.#nextPrompt]?.seeds.length === 0) this.#nextPrompt++;
  }

  complete(completions: Completion[]): void {
    if (this.#ended) return;
    this.#unfinished -= completions.length;
    this.#onCompletions(completions);
    if (this.#unfinished === 0) this.#end(() => this.#resolve());
  }

  fail(error: unknown): void {
    this.#end(() => this.#reject(error));
  }

  #end(settle: () => void): void {
    if (this.#ended) return;
    this.#ended = true;
    for (const prefix of this.#prefixes.values()) prefix.release();
    this.#prefixes.clear();
    settle();
  }
}

/** @throws RekindleError EngineError that names the prompt and the numbers; the same request would fail again. */
function checkRequest(config: DecoderConfig, request: GenerationRequest): void {
  const { vocabSize, maxPositions } = config;
  const { maxNewTokens } = request.sampling;
  const refused = (message: string, hint: string): RekindleError =>
    new RekindleError('EngineError', message, { hint, permanent: true });
  request.prompts.forEach(({ ids }, index) => {
    if (ids.length === 0) {
      throw refused(
        `prompt ${index} is empty, expected at least one token`,
        'Look at the task and at the prompt template.',
      );
    }
    if (ids.length + maxNewTokens > maxPositions) {
      throw refused(
        `prompt ${index} has ${ids.length} tokens; with ${maxNewTokens} new tokens that is more than the model's ${maxPositions} positions`,
        'Lower rollout.maxNewTokens, shorten the prompt, or use a model with more positions.',
      );
    }
    const wrong = ids.find((id) => !(Number.isInteger(id) && id >= 0 && id < vocabSize));
    if (wrong !== undefined) {
      throw refused(
        `prompt ${index} holds the token id ${wrong}, expected an integer from 0 to ${vocabSize - 1}`,
        'The tokenizer and the model do not belong together.',
      );
    }
  });
}
