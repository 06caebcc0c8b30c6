/**
 * Samples turns with the policy in force. When a newer one takes over, what is being generated goes on with it after the tokens that
 * are there; when time is up, it ends as it is, with `finish: abort`. Each span of tokens is told with the version that sampled it.
 *
 * What a span samples depends on its policy, the tokens before it and its seed, which is that of the turn for the first span and
 * follows from it and the number of tokens before for those after it.
 */
import type { Turn } from '../../core/records.ts';
import { resumedSeed, type Seed } from '../../core/seeds.ts';
import type { Completion, Engine, GenerationRequest, Sampling } from '../../gpu/engine-port.ts';
import type { ActingPolicy } from '../weights/acting-policy.ts';
import { TurnQueue } from './turn-queue.ts';

/** A turn without what was put before it. */
export type Response = Omit<Turn, 'observationIds'>;

export interface PolicySamplerParts {
  engine: Pick<Engine, 'generate'>;
  sampling: Sampling;
  /** Held by the engine, as any that `use` is given. */
  policy: ActingPolicy;
  signal: AbortSignal;
}

/** The time of one policy. */
interface Reign {
  policy: ActingPolicy;
  over: AbortController;
  /** Turns that begin with the policy. */
  queue: TurnQueue;
}

export class PolicySampler {
  readonly #parts: Omit<PolicySamplerParts, 'policy'>;
  #reign: Reign;
  #timeIsUp = false;

  constructor({ policy, ...parts }: PolicySamplerParts) {
    this.#parts = parts;
    this.#reign = this.#newReign(policy);
  }

  get policy(): ActingPolicy {
    return this.#reign.policy;
  }

  /** Goes on with a newer policy. */
  use(policy: ActingPolicy): void {
    const { over } = this.#reign;
    this.#reign = this.#newReign(policy);
    over.abort();
  }

  /** Ends what is being generated, and whatever is asked for later. */
  end(): void {
    this.#timeIsUp = true;
    this.#reign.over.abort();
  }

  /** Samples a response after `ids`, or goes on with one that was begun. Rejects with the engine's error, or when aborted. */
  async sample(ids: readonly number[], seed: Seed, begun?: Response): Promise<Response> {
    const nothing = [{ version: this.policy.version, tokens: 0 }];
    let response: Response = begun ?? { responseIds: [], logprobs: [], spans: nothing, finish: 'abort' };
    while (response.finish === 'abort' && !this.#timeIsUp) {
      const reign = this.#reign;
      const completion = await this.#generate(reign, ids, seed, response.responseIds);
      this.#parts.signal.throwIfAborted();
      response = joined(response, completion, reign.policy.version);
    }
    return response;
  }

  async #generate(
    reign: Reign,
    ids: readonly number[],
    seed: Seed,
    sampled: readonly number[],
  ): Promise<Completion> {
    if (sampled.length === 0) return reign.queue.sample(ids, seed);
    const prompt = { ids: [...ids, ...sampled], seeds: [resumedSeed(seed, sampled.length)] };
    let completion: Completion | undefined;
    await this.#request(reign, [prompt], sampled.length, ([only]) => (completion = only));
    return completion!;
  }

  #request(
    { policy, over }: Omit<Reign, 'queue'>,
    prompts: GenerationRequest['prompts'],
    sampled: number,
    onCompletions: (completions: Completion[]) => void,
  ): Promise<void> {
    const { engine, sampling, signal } = this.#parts;
    return engine.generate(
      {
        weights: policy.weights.hash,
        prompts,
        sampling: { ...sampling, maxNewTokens: sampling.maxNewTokens - sampled },
        onAbort: 'complete',
      },
      onCompletions,
      AbortSignal.any([signal, over.signal]),
    );
  }

  #newReign(policy: ActingPolicy): Reign {
    const over = new AbortController();
    const queue = new TurnQueue((prompts, onCompletions) =>
      this.#request({ policy, over }, prompts, 0, onCompletions),
    );
    return { policy, over, queue };
  }
}

function joined(response: Response, { ids, logprobs, finish }: Completion, version: number): Response {
  const last = response.spans.at(-1)!;
  const before = response.spans.slice(0, -1);
  return {
    responseIds: [...response.responseIds, ...ids],
    logprobs: [...response.logprobs, ...logprobs],
    spans:
      last.version === version || last.tokens === 0
        ? [...before, { version, tokens: last.tokens + ids.length }]
        : ids.length === 0
          ? response.spans
          : [...response.spans, { version, tokens: ids.length }],
    finish,
  };
}
