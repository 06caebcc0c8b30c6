/** Gathers what the runs of a training graph say of a batch's tokens into one result. */
import type { ForwardBackwardResult, RowBatch } from '../engine-port.ts';
import type { PolicyHead } from '../training-setup.ts';
import type { TokenNumbers } from './loss-session.ts';
import { METRIC } from './training-graph.ts';

export class GatheredOutputs {
  readonly #weights: Float32Array;
  readonly #perToken: Record<'logprobs' | 'entropies' | 'values', Float32Array>;
  readonly #metrics: Record<string, number>;
  #loss = 0;
  #entropy = 0;
  #trained = 0;

  constructor(head: PolicyHead, { ids, weights }: RowBatch, metrics: readonly string[]) {
    const tokens = (isSaid: boolean): Float32Array => new Float32Array(isSaid ? ids.length : 0);
    const isToken = head === 'token';
    this.#weights = weights;
    this.#perToken = { logprobs: tokens(isToken), entropies: tokens(isToken), values: tokens(!isToken) };
    this.#metrics = Object.fromEntries(metrics.map((name) => [name, 0]));
  }

  /** @param sources Where the run's tokens stand in the batch. */
  add(sources: Int32Array, outputs: TokenNumbers): void {
    for (const [name, batchNumbers] of Object.entries(this.#perToken)) {
      const said = outputs[name];
      if (said) sources.forEach((source, i) => (batchNumbers[source] = said[i]!));
    }
    const weighted = (numbers: Float32Array): number =>
      sources.reduce((sum, source, i) => sum + numbers[i]! * this.#weights[source]!, 0);
    this.#loss += weighted(outputs['loss']!);
    for (const name of Object.keys(this.#metrics)) this.#metrics[name]! += weighted(outputs[METRIC + name]!);
    this.#entropy += outputs['entropies']?.reduce((sum, entropy) => sum + entropy, 0) ?? 0;
    this.#trained += sources.length;
  }

  result(): ForwardBackwardResult {
    return {
      ...this.#perToken,
      loss: this.#loss,
      entropy: this.#trained === 0 ? 0 : this.#entropy / this.#trained,
      metrics: this.#metrics,
    };
  }
}
