/** One sample while it is generated: its tokens so far and what was asked for of each. */
import { uniformAt, type Seed } from '../../core/seeds.ts';
import type { Completion, GenerationRequest, TokenDelta } from '../engine-port.ts';
import { chooseToken } from './sampler.ts';
import type { NextToken } from './step-output.ts';
import type { StopCheck, StopRule } from './stop-rule.ts';
import { UntemperedLogprobs } from './token-logprobs.ts';

export interface SamplePlace {
  prompt: number;
  sample: number;
  promptIds: readonly number[];
  seed: Seed;
}

/** What is reported of tokens, aligned with their ids. */
type Reported = Omit<TokenDelta, 'prompt' | 'sample'>;

/** What a request asks for of each of its samples. */
export interface Asked {
  readonly sampling: GenerationRequest['sampling'];
  readonly report: NonNullable<GenerationRequest['report']>;
}

/** @typeParam Job The request, as whoever holds its samples knows it. */
export class Sequence<Job extends Asked> {
  readonly job: Job;
  readonly place: SamplePlace;
  readonly #all: Reported;
  readonly #promptLogprobs: number[];
  readonly #isStop: StopCheck;

  constructor(job: Job, place: SamplePlace, stopRule: StopRule, promptLogprobs: number[]) {
    this.job = job;
    this.place = place;
    this.#all = this.#nothing();
    this.#promptLogprobs = promptLogprobs;
    this.#isStop = stopRule.newCheck();
  }

  /** The sampling temperature as the graph takes it: 1 when greedy. */
  get temperature(): number {
    return this.job.sampling.temperature === 0 ? 1 : this.job.sampling.temperature;
  }

  get lastId(): number {
    return this.#all.ids.at(-1) ?? this.place.promptIds.at(-1)!;
  }

  /**
   * Samples the next token.
   * @returns What it was, and how the sample finished, or null while it goes on.
   */
  advance(next: NextToken): { delta: TokenDelta; finish: 'stop' | 'length' | null } {
    const { sampling, report } = this.job;
    const { ids } = this.#all;
    const uniform = sampling.temperature === 0 ? 0 : uniformAt(this.place.seed, ids.length);
    const { id, logprob, samplingLogprob } = chooseToken(next, sampling, uniform);
    const one = this.#nothing();
    one.ids.push(id);
    one.logprobs.push(logprob);
    one.samplingLogprobs?.push(samplingLogprob);
    if (one.untemperedLogprobs || one.topLogprobs) {
      const untempered = new UntemperedLogprobs(next, this.temperature);
      one.untemperedLogprobs?.push(untempered.of(id));
      one.topLogprobs?.push(untempered.top(report.topLogprobs!));
    }
    append(this.#all, one);
    const { prompt, sample } = this.place;
    const finish = this.#isStop(id) ? 'stop' : ids.length === sampling.maxNewTokens ? 'length' : null;
    return { delta: { prompt, sample, ...one }, finish };
  }

  completion(finish: Completion['finish']): Completion {
    const { prompt, sample } = this.place;
    const promptLogprobs = this.job.report.promptLogprobs ? { promptLogprobs: this.#promptLogprobs } : {};
    return { prompt, sample, ...this.#all, ...promptLogprobs, finish };
  }

  #nothing(): Reported {
    const { samplingLogprobs, untemperedLogprobs, topLogprobs } = this.job.report;
    return {
      ids: [],
      logprobs: [],
      ...(samplingLogprobs ? { samplingLogprobs: [] } : {}),
      ...(untemperedLogprobs ? { untemperedLogprobs: [] } : {}),
      ...(topLogprobs ? { topLogprobs: [] } : {}),
    };
  }
}

function append(to: Reported, from: Reported): void {
  to.ids.push(...from.ids);
  to.logprobs.push(...from.logprobs);
  to.samplingLogprobs?.push(...from.samplingLogprobs!);
  to.untemperedLogprobs?.push(...from.untemperedLogprobs!);
  to.topLogprobs?.push(...from.topLogprobs!);
}
