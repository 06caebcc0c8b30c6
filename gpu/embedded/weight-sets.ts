/**
 * The weight sets that an engine holds, by tag. A set never changes while it is held; whoever has a reference may go on using it
 * after it was dropped from here.
 */
import { RekindleError } from '../../core/errors.ts';
import type { Tensor } from './session.ts';
import { weightTensors } from './weight-tensors.ts';
import type { WeightsLayout } from './weights-layout.ts';

export interface WeightSet {
  flat: Float32Array;
  tensors: Readonly<Record<string, Tensor>>;
}

export class WeightSets {
  readonly #layout: WeightsLayout;
  /** Least recently used first. */
  readonly #sets = new Map<string, WeightSet>();

  constructor(layout: WeightsLayout) {
    this.#layout = layout;
  }

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

  /** @throws RekindleError EngineError when the set is not held. */
  get(tag: string): WeightSet {
    const set = this.find(tag);
    if (set) return set;
    throw new RekindleError('EngineError', `weights not loaded: ${tag}`, {
      hint: 'Call load with these weights before use; an engine that was restarted holds none.',
    });
  }

  /** Holds `flat` itself, which must not be changed any more. */
  add(tag: string, flat: Float32Array): WeightSet {
    const set = this.find(tag) ?? { flat, tensors: weightTensors(this.#layout, flat) };
    this.#sets.set(tag, set);
    return set;
  }

  clear(): void {
    this.#sets.clear();
  }

  /** Drops the least recently used sets until at most `keep` are left beside `tag`. */
  trim(tag: string, keep: number): void {
    const others = this.tags.filter((held) => held !== tag);
    for (const old of others.slice(0, Math.max(0, others.length - keep))) this.#sets.delete(old);
  }
}
