/** The trained tensors of a policy with their gradients and moments, where the sessions that read and update them have them. */
import type { StepSettings } from '../engine-port.ts';
import type { Tensor } from './session.ts';

export interface Moments {
  first: Float32Array;
  second: Float32Array;
}

export type WeightTensors = Readonly<Record<string, Tensor>>;

export interface TrainedState {
  readonly tensors: WeightTensors;
  /** The gradients gathered so far, as training graphs read them, and where the graphs write them. */
  readonly accumulated: WeightTensors;
  readonly gradientFetches: WeightTensors;
  /** Flat, in the plan's layout: the state's own arrays where it has such, else copies. */
  readonly weights: Float32Array;
  readonly gradients: Float32Array;
  readonly moments: Moments;
  /** Starts from `weights` and `moments` (zero when null), copied unless they are the state's own; clears the gradients. */
  begin(weights: Float32Array, moments: Moments | null): void;
  /** The tensors of a policy that are not trained, for the same sessions. */
  fixed(tensors: WeightTensors): WeightTensors;
  /** [positions, hiddenSize]: where a run writes the gradient of the embedding row that each position looked up. */
  embeddedGradient(positions: number): Tensor;
  /** Adds what the last run wrote to the gradient of the embedding. */
  addEmbeddedGradient(ids: Int32Array): void;
  /**
   * Clips, steps and clears the gradients. A gradient that is not finite changes neither weights nor moments; `applied` is false
   * then, and after a step that made a weight infinite or NaN.
   * @param step Number of this step since the moments were zero, from 1.
   */
  step(settings: StepSettings, step: number): { gradientNorm: number; applied: boolean };
  close(): void;
}
