/**
 * What the attempt that runs now has sampled, and what of it is safe: counts for the account of faults, never for a decision.
 * Engines report tokens, whoever records trajectories reports them saved; both find the attempt by the asynchronous context.
 * Samples are taken to be saved in the order in which they ended.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Generated } from './journal-events.ts';

interface Ended {
  tokens: number;
  seconds: number;
}

export class SampledWork {
  readonly #onTokens: () => void;
  readonly #underWay = new Map<string, { tokens: number; since: number }>();
  /** Ended and unsaved, in order. */
  #ended: Ended[] = [];
  #tokens = 0;

  /** `onTokens` is called after each report of new tokens. */
  constructor(onTokens: () => void = () => undefined) {
    this.#onTokens = onTokens;
  }

  /** `sample` is a name that no other sample of the attempt has; `now` is in milliseconds. */
  sampled(sample: string, tokens: number, now: number): void {
    const known = this.#underWay.get(sample);
    if (known === undefined) this.#underWay.set(sample, { tokens, since: now });
    else known.tokens += tokens;
    this.#tokens += tokens;
    this.#onTokens();
  }

  /** `tokens` is the whole length of the sample, of which an engine that does not stream has told nothing. */
  ended(sample: string, tokens: number, began: number, now: number): void {
    const known = this.#underWay.get(sample) ?? { tokens: 0, since: began };
    this.#underWay.delete(sample);
    this.#ended.push({ tokens, seconds: (now - known.since) / 1000 });
    this.#tokens += tokens - known.tokens;
    this.#onTokens();
  }

  saved(tokens: number): void {
    let left = tokens;
    while (left > 0 && this.#ended.length > 0) {
      const first = this.#ended[0]!;
      if (first.tokens > left) {
        const rest = 1 - left / first.tokens;
        this.#ended[0] = { tokens: first.tokens - left, seconds: first.seconds * rest };
        return;
      }
      left -= first.tokens;
      this.#ended.shift();
    }
  }

  generated(now: number): Generated {
    const underWay = [...this.#underWay.values()];
    const sum = (numbers: number[]): number => numbers.reduce((total, number) => total + number, 0);
    return {
      tokens: this.#tokens,
      unsavedTokens: sum([...this.#ended, ...underWay].map(({ tokens }) => tokens)),
      unsavedTrajectorySeconds: sum([
        ...this.#ended.map(({ seconds }) => seconds),
        ...underWay.map(({ since }) => (now - since) / 1000),
      ]),
      underWay: underWay.length,
    };
  }
}

const current = new AsyncLocalStorage<SampledWork>();

/** Runs an attempt, to which everything that it does belongs. */
export function withSampledWork<T>(work: SampledWork, attempt: () => T): T {
  return current.run(work, attempt);
}

/** Undefined outside of an attempt. */
export function sampledWork(): SampledWork | undefined {
  return current.getStore();
}
