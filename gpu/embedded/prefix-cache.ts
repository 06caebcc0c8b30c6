/**
 * Keys and values of prompts, kept for later prompts that begin with the same tokens, such as the next turn of a conversation.
 * Those of a token depend on the tokens up to it only, to the bit (see forward-graph.ts), so any common beginning can be used.
 * Bounded by bytes; the least recently used go first, but never one that is pinned.
 */
import type { KvPrefix } from './kv-cache.ts';

export interface KeptPrefix {
  readonly ids: readonly number[];
  readonly keysAndValues: KvPrefix;
}

export interface PrefixCacheLimits {
  /** Of what is not pinned. */
  bytes: number;
  bytesPerToken: number;
  /** Prefixes of fewer tokens go with their last pin. */
  shortest: number;
}

export class PrefixCache {
  readonly #limits: PrefixCacheLimits;
  readonly #pinned = new Set<KeptPrefix>();
  /** Least recently used first. */
  readonly #free = new Set<KeptPrefix>();
  #freeTokens = 0;

  constructor(limits: PrefixCacheLimits) {
    this.#limits = limits;
  }

  get bytes(): number {
    const pinned = [...this.#pinned].reduce((sum, { ids }) => sum + ids.length, 0);
    return (pinned + this.#freeTokens) * this.#limits.bytesPerToken;
  }

  /** Holds the keys and values of `ids`, pinned. */
  add(ids: readonly number[], keysAndValues: KvPrefix): KeptPrefix {
    const added = { ids, keysAndValues };
    this.#pinned.add(added);
    return added;
  }

  /** Ends the time in which a prefix must be held. */
  unpin(prefix: KeptPrefix): void {
    if (!this.#pinned.delete(prefix)) return;
    this.#free.add(prefix);
    this.#freeTokens += prefix.ids.length;
    if (prefix.ids.length < this.#limits.shortest) this.#drop(prefix);
    for (const oldest of this.#free) {
      if (this.#freeTokens * this.#limits.bytesPerToken <= this.#limits.bytes) break;
      this.#drop(oldest);
    }
  }

  /** The prefix that shares most tokens with the beginning of `ids`, with their number; null when none shares any. */
  longest(ids: readonly number[]): { prefix: KeptPrefix; shared: number } | null {
    let best: { prefix: KeptPrefix; shared: number } | null = null;
    for (const prefix of [...this.#pinned, ...this.#free]) {
      const shared = sharedLength(prefix.ids, ids);
      if (shared > (best?.shared ?? 0)) best = { prefix, shared };
    }
    if (best && this.#free.delete(best.prefix)) this.#free.add(best.prefix);
    return best;
  }

  /** Drops all that is not pinned. */
  clear(): void {
    for (const prefix of this.#free) this.#drop(prefix);
  }

  #drop(prefix: KeptPrefix): void {
    this.#free.delete(prefix);
    this.#freeTokens -= prefix.ids.length;
    prefix.keysAndValues.release();
  }
}

/** Tokens at the beginning that two sequences have in common. */
export function sharedLength(a: readonly number[], b: readonly number[]): number {
  const shorter = Math.min(a.length, b.length);
  let shared = 0;
  while (shared < shorter && a[shared] === b[shared]) shared++;
  return shared;
}
