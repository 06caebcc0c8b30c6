/** A trained state in flat arrays of this process. */
import type { StepSettings } from '../engine-port.ts';
import { AdamW } from './optimizer.ts';
import { tensor, type Tensor } from './session.ts';
import type { Moments, TrainedState, WeightTensors } from './trained-state.ts';
import { ACCUMULATED, GRADIENT } from './training-graph.ts';
import type { TrainedLayout } from './training-plan.ts';
import { weightTensors } from './weight-tensors.ts';
import { EMBEDDING } from './weights-layout.ts';

export class HostState implements TrainedState {
  readonly tensors: WeightTensors;
  readonly accumulated: WeightTensors;
  readonly gradientFetches: WeightTensors;
  readonly #layout: TrainedLayout;
  readonly #hiddenSize: number;
  readonly #arrays;
  readonly #optimizer: AdamW;
  #momentsAreZero = true;
  #heldWeights: Float32Array[] = [];
  /** Grows to the largest run; the last one wrote its beginning. */
  #embeddedGradient = new Float32Array(0);

  constructor(layout: TrainedLayout, hiddenSize: number) {
    this.#layout = layout;
    this.#hiddenSize = hiddenSize;
    this.#optimizer = new AdamW(layout);
    this.#arrays = this.#optimizer.arrays;
    this.tensors = weightTensors(layout, this.#arrays.weights);
    this.accumulated = weightTensors(layout, this.#arrays.gradients, ACCUMULATED);
    this.gradientFetches = weightTensors(layout, this.#arrays.gradients, GRADIENT);
  }

  get weights(): Float32Array {
    return this.#arrays.weights;
  }

  get gradients(): Float32Array {
    return this.#arrays.gradients;
  }

  get moments(): Moments {
    return { first: this.#arrays.firstMoments, second: this.#arrays.secondMoments };
  }

  begin(weights: Float32Array, moments: Moments | null): void {
    const { firstMoments, secondMoments, gradients } = this.#arrays;
    fill(this.#arrays.weights, weights);
    gradients.fill(0);
    if (moments) {
      fill(firstMoments, moments.first);
      fill(secondMoments, moments.second);
    } else if (!this.#momentsAreZero) {
      firstMoments.fill(0);
      secondMoments.fill(0);
    }
    this.#momentsAreZero = moments === null;
    this.#heldWeights = this.#layout.held.map(({ offset, length }) =>
      this.#arrays.weights.slice(offset, offset + length),
    );
  }

  fixed(tensors: WeightTensors): WeightTensors {
    return tensors;
  }

  embeddedGradient(positions: number): Tensor {
    const length = positions * this.#hiddenSize;
    if (this.#embeddedGradient.length < length) this.#embeddedGradient = new Float32Array(length);
    return tensor(this.#embeddedGradient.subarray(0, length), [positions, this.#hiddenSize]);
  }

  /** In the order of positions. */
  addEmbeddedGradient(ids: Int32Array): void {
    const { offset } = this.#layout.tensors.find(({ name }) => name === EMBEDDING)!;
    const width = this.#hiddenSize;
    const { gradients } = this.#arrays;
    for (let position = 0; position < ids.length; position++) {
      const target = offset + ids[position]! * width;
      const source = position * width;
      for (let i = 0; i < width; i++) gradients[target + i]! += this.#embeddedGradient[source + i]!;
    }
  }

  step(settings: StepSettings, step: number): { gradientNorm: number; applied: boolean } {
    const { held } = this.#layout;
    for (const { offset, length } of held) this.#arrays.gradients.fill(0, offset, offset + length);
    this.#momentsAreZero = false;
    const outcome = this.#optimizer.step(settings, step);
    // Weight decay has moved what has no gradient, too.
    held.forEach(({ offset }, i) => this.#arrays.weights.set(this.#heldWeights[i]!, offset));
    return outcome;
  }

  close(): void {}
}

function fill(target: Float32Array, source: Float32Array): void {
  if (target !== source) target.set(source);
}
