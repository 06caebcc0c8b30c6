/**
 * AdamW (Loshchilov and Hutter 2019, "Decoupled weight decay regularization", algorithm 2) with clipping by the global gradient
 * norm. Updates flat arrays in place, slice by slice so that a slice stays in the processor's cache through all its operations.
 */
import type { StepSettings } from '../engine-port.ts';
import { Graph } from '../graph/graph.ts';
import { add, div, mul, sqrt, sub } from '../graph/ops.ts';
import { Session, tensor, type SessionOptions, type Tensor } from './session.ts';
import type { WeightsLayout } from './weights-layout.ts';

const SLICE = 1 << 16;
/** Keeps the clipping factor finite; the value that torch.nn.utils.clip_grad_norm_ uses. */
export const NORM_EPSILON = 1e-6;

/** Flat arrays of one length; `firstMoments` and `secondMoments` are the running means of the gradient and of its square. */
export interface OptimizerArrays {
  weights: Float32Array;
  gradients: Float32Array;
  firstMoments: Float32Array;
  secondMoments: Float32Array;
}

interface Slice {
  decays: boolean;
  feeds: Record<string, Tensor>;
  fetches: Record<string, Tensor>;
}

export class AdamW {
  readonly #session: Session;
  readonly #arrays: OptimizerArrays;
  readonly #slices: Slice[];

  constructor(layout: WeightsLayout, arrays: OptimizerArrays, options: SessionOptions) {
    this.#session = new Session(adamWGraph(), options);
    this.#arrays = arrays;
    this.#slices = [
      ...slicesOf(arrays, 0, layout.matrixParameters, true),
      ...slicesOf(arrays, layout.matrixParameters, layout.parameters, false),
    ];
  }

  /**
   * One update from the gradients, which it leaves as they are. A gradient that is not finite changes nothing.
   * @param step Number of this step since the moments were zero, from 1.
   */
  step(settings: StepSettings, step: number): { gradientNorm: number; applied: boolean } {
    const gradientNorm = euclideanNorm(this.#arrays.gradients);
    if (!Number.isFinite(gradientNorm)) return { gradientNorm, applied: false };
    const { learningRate, weightDecay } = settings;
    const clipping = Math.min(1, settings.gradientClip / (gradientNorm + NORM_EPSILON));
    const withoutDecay = stepFeeds(settings, step, clipping, 1);
    const withDecay = stepFeeds(settings, step, clipping, 1 - learningRate * weightDecay);
    for (const { decays, feeds, fetches } of this.#slices) {
      this.#session.run({ ...feeds, ...(decays ? withDecay : withoutDecay) }, fetches);
    }
    return { gradientNorm, applied: true };
  }

  close(): void {
    this.#session.close();
  }
}

/** Summed in double, one element after the other: the same bits on any number of threads. */
function euclideanNorm(values: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i]! * values[i]!;
  return Math.sqrt(sum);
}

function slicesOf(arrays: OptimizerArrays, start: number, end: number, decays: boolean): Slice[] {
  const slices: Slice[] = [];
  for (let from = start; from < end; from += SLICE) {
    const to = Math.min(from + SLICE, end);
    const view = (array: Float32Array): Tensor => tensor(array.subarray(from, to), [to - from]);
    const [w, m, v] = [arrays.weights, arrays.firstMoments, arrays.secondMoments].map(view);
    const feeds = { w: w!, g: view(arrays.gradients), m: m!, v: v! };
    slices.push({ decays, feeds, fetches: { newW: w!, newM: m!, newV: v! } });
  }
  return slices;
}

/**
 * The step's scalars, computed in double. With c1 = 1 - beta1^t and c2 = 1 - beta2^t,
 *   w keep - lr (m / c1) / (sqrt(v / c2) + eps)  =  w keep - (lr sqrt(c2) / c1) m / (sqrt(v) + eps sqrt(c2)),
 * which spares two passes over the slice.
 */
export function stepFeeds(
  settings: StepSettings,
  step: number,
  clipping: number,
  keep: number,
): Record<string, Tensor> {
  const { learningRate, beta1, beta2, epsilon } = settings;
  const rootCorrection2 = Math.sqrt(1 - beta2 ** step);
  const scalars = {
    beta1,
    beta2,
    gradientToM: clipping * (1 - beta1),
    gradientToRootV: clipping * Math.sqrt(1 - beta2),
    rate: (learningRate * rootCorrection2) / (1 - beta1 ** step),
    epsilon: epsilon * rootCorrection2,
    keep,
  };
  return Object.fromEntries(
    Object.entries(scalars).map(([name, value]) => [name, tensor(Float32Array.of(value), [])]),
  );
}

export function adamWGraph(): Graph {
  const graph = new Graph('adamw');
  const vector = (name: string) => graph.input(name, ['n']);
  const scalar = (name: string) => graph.input(name, []);
  const [w, g, m, v] = [vector('w'), vector('g'), vector('m'), vector('v')];
  const newM = add(mul(m, scalar('beta1')), mul(g, scalar('gradientToM')));
  const scaled = mul(g, scalar('gradientToRootV'));
  const newV = add(mul(v, scalar('beta2')), mul(scaled, scaled));
  const change = div(mul(newM, scalar('rate')), add(sqrt(newV), scalar('epsilon')));
  graph.output('newW', sub(mul(w, scalar('keep')), change));
  graph.output('newM', newM);
  graph.output('newV', newV);
  return graph;
}
