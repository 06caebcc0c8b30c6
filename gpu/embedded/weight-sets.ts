/**
 * The weight sets that an engine holds, by tag. A set never changes while it is held; whoever has a reference may go on using it
 * after it was dropped from here.
 */
import { RekindleError } from '../../core/errors.ts';
import type { HostTensor } from './session.ts';

export interface WeightSet {
  /** The engine's tensors by name. */
  tensors: Readonly<Record<string, HostTensor>>;
  /** The tag of the set that this one was merged from; it may share tensors with it. */
  base?: string;
}

export class WeightSets {
  /** Least recently used first. */
  readonly #sets = new Map<string, WeightSet>();

  get tags(): string[] {
    return [...this.#sets.keys()];
  }

  find(tag: string): WeightSet | undefined {
    const set = this.#sets.get(tag);
    if (set) {
      this.#sets.delete(tag);
      this.#sets.set(tag, set);
    }
    return set;
  }

  /** Holds a set, unless one is held under its tag already. Its arrays must not be changed any more. */
  add(tag: string, set: WeightSet): WeightSet {
    const held = this.find(tag) ?? set;
    this.#sets.set(tag, held);
    return held;
  }

  /** Drops the least recently used sets until at most `keep` are left beside `tag`, not counting bases of what is left. */
  trim(tag: string, keep: number): void {
    const others = this.tags.filter((held) => held !== tag);
    const kept = new Set([tag, ...(keep > 0 ? others.slice(-keep) : [])]);
    for (const each of [...kept]) {
      const base = this.#sets.get(each)?.base;
      if (base !== undefined) kept.add(base);
    }
    for (const held of others) if (!kept.has(held)) this.#sets.delete(held);
  }

  /** Drops all. */
  clear(): void {
    this.#sets.clear();
  }
}

export function notHeld(tag: string): RekindleError {
  return new RekindleError('EngineError', `weights not loaded: ${tag}`, {
    hint: 'Call load with these weights before use; an engine that was restarted holds none.',
  });
}
