/**
 * Which tensors of a policy are trained. Gradients and moments exist for these alone, in flat arrays of a layout of their own;
 * everything else is only read, wherever it lies.
 */
import { RekindleError } from '../../core/errors.ts';
import { matchingNames } from '../../core/name-patterns.ts';
import { adapterLayout } from '../adapters/adapter-layout.ts';
import type { DecoderConfig } from '../model/decoder-config.ts';
import type { TrainingSetup } from '../training-setup.ts';
import { weightsLayout, type TensorSlot, type WeightsLayout } from './weights-layout.ts';

export interface TrainedLayout extends WeightsLayout {
  /**
   * Pieces that must not change all the same: frozen parts of a matrix that the engine stacks with trained ones. Their gradient is
   * computed and dropped.
   */
  held: Pick<TensorSlot, 'offset' | 'length'>[];
}

export interface TrainingPlan {
  config: DecoderConfig;
  setup: TrainingSetup;
  /** The full weights: of the policy itself, or those that an adapter adds to. */
  base: WeightsLayout;
  trained: TrainedLayout;
  /** Tensors of the base that are not trained. */
  fixed: TensorSlot[];
}

/**
 * @throws RekindleError RecipeError for a frozen pattern that matches nothing, when nothing is left to train, or for frozen patterns
 * beside an adapter.
 */
export function trainingPlan(config: DecoderConfig, setup: TrainingSetup): TrainingPlan {
  const { adapter, frozen, head } = setup;
  const scored = head !== 'token';
  const base = weightsLayout(config, !scored ? 'token' : adapter ? 'none' : 'score');
  if (adapter && frozen.length > 0) {
    throw new RekindleError('RecipeError', 'frozen patterns have no effect beside an adapter');
  }
  const trained = adapter
    ? { ...adapterLayout(base, adapter, scored), held: [] }
    : withoutFrozen(base, frozen);
  const names = new Set(trained.tensors.map(({ name }) => name));
  return { config, setup, base, trained, fixed: base.tensors.filter(({ name }) => !names.has(name)) };
}

/** The parts that a stacked tensor is made of, under their Hugging Face names. */
export function partsOf(layout: WeightsLayout, { offset, length }: TensorSlot): TensorSlot[] {
  return layout.huggingFace.filter((part) => part.offset >= offset && part.offset < offset + length);
}

function withoutFrozen(base: WeightsLayout, patterns: readonly string[]): TrainedLayout {
  if (patterns.length === 0) return { ...base, held: [] };
  const frozen = matchingNames(
    patterns,
    base.huggingFace.map(({ name }) => name),
  );
  const layout: TrainedLayout = {
    parameters: 0,
    matrixParameters: 0,
    tensors: [],
    huggingFace: [],
    held: [],
  };
  for (const tensor of base.tensors) {
    const parts = partsOf(base, tensor);
    if (parts.every(({ name }) => frozen.has(name))) continue;
    const move = layout.parameters - tensor.offset;
    layout.tensors.push({ ...tensor, offset: layout.parameters });
    for (const part of parts) {
      const moved = { ...part, offset: part.offset + move };
      if (frozen.has(part.name)) layout.held.push(moved);
      else layout.huggingFace.push(moved);
    }
    layout.parameters += tensor.length;
    if (tensor.offset < base.matrixParameters) layout.matrixParameters = layout.parameters;
  }
  if (layout.parameters === 0) {
    throw new RekindleError('RecipeError', `frozen patterns leave nothing to train: ${patterns.join(', ')}`);
  }
  return layout;
}
