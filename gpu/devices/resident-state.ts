/** A trained state in the memory of a WebGPU device. Only sums of squares come to the host, until its arrays are asked for. */
import type { StepSettings } from '../engine-port.ts';
import { Session } from '../embedded/session.ts';
import type { Moments, TrainedState, WeightTensors } from '../embedded/trained-state.ts';
import { ACCUMULATED, GRADIENT } from '../embedded/training-graph.ts';
import type { TrainedLayout } from '../embedded/training-plan.ts';
import { EMBEDDING } from '../embedded/weights-layout.ts';
import { Graph } from '../graph/graph.ts';
import { shapeOf } from '../graph/ops.ts';
import { EmbeddingGradient } from './embedding-gradient.ts';
import { HeldPieces } from './held-pieces.ts';
import { ResidentAdamW } from './resident-adamw.ts';
import { ResidentTensor } from './resident-tensor.ts';
import { ResidentTensors } from './resident-tensors.ts';
import { WebGpuPlace } from './webgpu-place.ts';

export class ResidentState implements TrainedState {
  readonly tensors: WeightTensors;
  readonly accumulated: WeightTensors;
  readonly gradientFetches: WeightTensors;
  readonly #parameters: number;
  readonly #hiddenSize: number;
  readonly #place = new WebGpuPlace();
  readonly #policy;
  readonly #held: HeldPieces;
  readonly #optimizer: ResidentAdamW;
  readonly #embeddingGradient = new EmbeddingGradient();
  readonly #zeros = new Session(zerosGraph(), { threads: 1, device: 'webgpu' });
  #begun = false;
  #embedded: ResidentTensor | undefined;

  constructor(layout: TrainedLayout, hiddenSize: number) {
    const { memory } = this.#place;
    const resident = () => new ResidentTensors(layout.tensors, memory);
    this.#parameters = layout.parameters;
    this.#hiddenSize = hiddenSize;
    this.#policy = {
      weights: resident(),
      gradients: resident(),
      firstMoments: resident(),
      secondMoments: resident(),
    };
    this.#held = new HeldPieces(layout, memory);
    this.#optimizer = new ResidentAdamW(layout, this.#policy);
    this.tensors = this.#policy.weights.named();
    this.accumulated = this.#policy.gradients.named(ACCUMULATED);
    this.gradientFetches = this.#policy.gradients.named(GRADIENT);
  }

  get weights(): Float32Array {
    return this.#copyOf(this.#policy.weights);
  }

  get gradients(): Float32Array {
    return this.#copyOf(this.#policy.gradients);
  }

  get moments(): Moments {
    return {
      first: this.#copyOf(this.#policy.firstMoments),
      second: this.#copyOf(this.#policy.secondMoments),
    };
  }

  begin(weights: Float32Array, moments: Moments | null): void {
    const { firstMoments, secondMoments, gradients } = this.#policy;
    this.#begun = true;
    this.#policy.weights.write(weights);
    this.#held.keep(weights);
    this.#clear(gradients);
    if (moments) {
      firstMoments.write(moments.first);
      secondMoments.write(moments.second);
    } else {
      this.#clear(firstMoments);
      this.#clear(secondMoments);
    }
  }

  fixed(tensors: WeightTensors): WeightTensors {
    return this.#place.inUse(tensors);
  }

  embeddedGradient(positions: number): ResidentTensor {
    this.#embedded?.release();
    this.#embedded = new ResidentTensor([positions, this.#hiddenSize]);
    return this.#embedded;
  }

  addEmbeddedGradient(ids: Int32Array): void {
    this.#embeddingGradient.add(this.#policy.gradients.tensors.get(EMBEDDING)!, this.#embedded!, ids);
  }

  step(settings: StepSettings, step: number): { gradientNorm: number; applied: boolean } {
    const { weights, gradients } = this.#policy;
    this.#held.clearGradients(gradients);
    const { gradientNorm, applied } = this.#optimizer.step(settings, step);
    this.#held.restore(weights);
    this.#clear(gradients);
    return { gradientNorm, applied: applied && this.#optimizer.weightsAreFinite() };
  }

  close(): void {
    for (const tensors of Object.values(this.#policy)) tensors.release();
    this.#embedded?.release();
    this.#held.close();
    this.#optimizer.close();
    this.#embeddingGradient.close();
    this.#zeros.close();
    this.#place.close();
  }

  /** Zeros before the first beginning, as on the host. */
  #copyOf(tensors: ResidentTensors): Float32Array {
    const copy = new Float32Array(this.#parameters);
    return this.#begun ? tensors.read(copy) : copy;
  }

  /** Fills with zeros, in the shape of the weights. */
  #clear(tensors: ResidentTensors): void {
    for (const [name, tensor] of tensors.tensors) {
      const size = [tensor.shape.reduce((product, one) => product * one, 1)];
      this.#zeros.run(
        { x: this.#policy.weights.tensors.get(name)!.reshaped(size) },
        { y: tensor.reshaped(size) },
      );
    }
  }
}

function zerosGraph(): Graph {
  const graph = new Graph('zeros');
  const x = graph.input('x', ['n']);
  graph.output('y', graph.node('ConstantOfShape', [shapeOf(x)], [{ shape: x.shape }])[0]!);
  return graph;
}
