/** AdamW with clipping, as optimizer.ts computes it, on tensors in a device's memory; only sums of squares come to the host. */
import type { StepSettings } from '../engine-port.ts';
import { Graph } from '../graph/graph.ts';
import { concat, mul, reduce, reshape } from '../graph/ops.ts';
import { stepFactors } from '../embedded/adamw-factors.ts';
import { Session, tensor } from '../embedded/session.ts';
import type { TensorSlot, WeightsLayout } from '../embedded/weights-layout.ts';
import { adamWGraph, factorFeeds } from './adamw-graph.ts';
import type { ResidentTensors } from './resident-tensors.ts';

export interface ResidentPolicy {
  weights: ResidentTensors;
  gradients: ResidentTensors;
  firstMoments: ResidentTensors;
  secondMoments: ResidentTensors;
}

const options = { threads: 1, device: 'webgpu' } as const;

export class ResidentAdamW {
  readonly #layout: WeightsLayout;
  readonly #policy: ResidentPolicy;
  readonly #update: Session;
  readonly #squares: Session;
  readonly #rowSquares: Float32Array;

  constructor(layout: WeightsLayout, policy: ResidentPolicy) {
    this.#layout = layout;
    this.#policy = policy;
    this.#update = new Session(adamWGraph(), options);
    this.#squares = new Session(rowSquaresGraph(layout.tensors), options);
    this.#rowSquares = new Float32Array(layout.tensors.reduce((sum, slot) => sum + rowsOf(slot), 0));
  }

  /** One update, as AdamW.step: a gradient that is not finite changes nothing. */
  step(settings: StepSettings, step: number): { gradientNorm: number; applied: boolean } {
    const gradientNorm = this.#norm(this.#policy.gradients);
    if (!Number.isFinite(gradientNorm)) return { gradientNorm, applied: false };
    const factors = stepFactors(settings, step, gradientNorm);
    const [withDecay, withoutDecay] = [factorFeeds(factors.withDecay), factorFeeds(factors.withoutDecay)];
    for (const { name, offset, length } of this.#layout.tensors) {
      const flat = (tensors: ResidentTensors) => tensors.tensors.get(name)!.reshaped([length]);
      const [w, m, v] = [this.#policy.weights, this.#policy.firstMoments, this.#policy.secondMoments].map(
        flat,
      );
      const scalars = offset < this.#layout.matrixParameters ? withDecay : withoutDecay;
      this.#update.run(
        { w: w!, g: flat(this.#policy.gradients), m: m!, v: v!, ...scalars },
        { newW: w!, newM: m!, newV: v! },
      );
    }
    return { gradientNorm, applied: true };
  }

  /** Whether all weights are finite (and none so large that its square is not). */
  weightsAreFinite(): boolean {
    return Number.isFinite(this.#norm(this.#policy.weights));
  }

  close(): void {
    this.#update.close();
    this.#squares.close();
  }

  /** Rows are summed on the device, their sums in double on the host. */
  #norm(tensors: ResidentTensors): number {
    this.#squares.run(tensors.named(), { rowSquares: tensor(this.#rowSquares, [this.#rowSquares.length]) });
    return Math.sqrt(this.#rowSquares.reduce((sum, square) => sum + square, 0));
  }
}

function rowsOf({ shape }: TensorSlot): number {
  return shape.slice(0, -1).reduce((product, size) => product * size, 1);
}

/** The sum of squares of each row of all tensors, one after the other. */
function rowSquaresGraph(slots: readonly TensorSlot[]): Graph {
  const graph = new Graph('row squares');
  const sums = slots.map((slot) => {
    const x = graph.input(slot.name, slot.shape);
    return reshape(reduce('ReduceSum', mul(x, x), -1, true), [-1], [rowsOf(slot)]);
  });
  graph.output('rowSquares', concat(sums, 0, ['rows']));
  return graph;
}
