/**
 * A policy's weights and optimizer state as safetensors files: weights under their Hugging Face names or, for an adapter, those of
 * PEFT; the moments as two flat tensors in the order of the trained layout, with the number of optimizer steps in the metadata.
 * The same state gives the same bytes.
 */
import { RekindleError } from '../../core/errors.ts';
import { isRedundantTensor } from '../model/check-weights.ts';
import { writeSafetensors } from '../model/safetensors.ts';
import { openWeightFiles } from '../model/weight-files.ts';
import type { Moments } from './trained-state.ts';
import { SCORE, type TensorSlot, type WeightsLayout } from './weights-layout.ts';

const FIRST_MOMENT = 'optimizer.first_moment';
const SECOND_MOMENT = 'optimizer.second_moment';
const STEP = 'optimizer_step';

/**
 * Reads weights into a flat array, by default a new one. A score that the file does not have is all zeros: so begins a value or
 * reward head on a language model.
 * @throws RekindleError ModelError when the file is not sound, or a tensor is missing, unknown or of another shape.
 */
export async function readWeights(
  path: string,
  layout: WeightsLayout,
  flat: Float32Array = new Float32Array(layout.parameters),
): Promise<Float32Array> {
  const pieceOf = ({ offset, length }: TensorSlot): Float32Array => flat.subarray(offset, offset + length);
  const score = layout.tensors.find(({ name }) => name === SCORE);
  const newScore = layout.huggingFace.find(({ offset }) => offset === score?.offset);
  await readSlots(path, layout.huggingFace, pieceOf, newScore);
  return flat;
}

/** Writes flat weights. @returns the SHA-256 of the file as `sha256:<hex>` */
export function writeWeights(path: string, layout: WeightsLayout, flat: Float32Array): Promise<string> {
  return writePieces(path, layout.huggingFace, ({ offset, length }) =>
    flat.subarray(offset, offset + length),
  );
}

/** Writes tensors whose values `pieceOf` gives. @returns the SHA-256 of the file as `sha256:<hex>` */
export async function writePieces(
  path: string,
  slots: readonly TensorSlot[],
  pieceOf: (slot: TensorSlot) => Float32Array,
  metadata: Record<string, string> = {},
): Promise<string> {
  const sources = slots.map((slot) => ({ name: slot.name, shape: slot.shape, data: () => pieceOf(slot) }));
  return (await writeSafetensors(path, sources, { format: 'pt', ...metadata })).hash;
}

/**
 * Reads the optimizer's moments into the given arrays.
 * @throws RekindleError ModelError as `readWeights`, or when the file speaks of another number of steps than `step`.
 */
export async function readMoments(path: string, step: number, moments: Moments): Promise<Moments> {
  const arrays = new Map([
    [FIRST_MOMENT, moments.first],
    [SECOND_MOMENT, moments.second],
  ]);
  const slots = Array.from(arrays, ([name, { length }]) => ({ name, shape: [length], offset: 0, length }));
  const metadata = await readSlots(path, slots, ({ name }) => arrays.get(name)!);
  if (metadata[STEP] !== String(step)) {
    throw new RekindleError(
      'ModelError',
      `${path}: metadata ${STEP} is ${metadata[STEP] ?? 'missing'}, expected ${step}`,
    );
  }
  return moments;
}

/** @returns the SHA-256 of the file as `sha256:<hex>` */
export async function writeMoments(path: string, moments: Moments, step: number): Promise<string> {
  const sources = [
    { name: FIRST_MOMENT, data: moments.first },
    { name: SECOND_MOMENT, data: moments.second },
  ].map(({ name, data }) => ({ name, shape: [data.length], data: () => data }));
  return (await writeSafetensors(path, sources, { [STEP]: String(step) })).hash;
}

/**
 * Reads exactly the given tensors of a file, each into its target; returns the file's metadata.
 * @param zeroWhenMissing A tensor that the file need not have.
 */
async function readSlots(
  path: string,
  slots: readonly TensorSlot[],
  targetOf: (slot: TensorSlot) => Float32Array,
  zeroWhenMissing?: TensorSlot,
): Promise<Record<string, string>> {
  const weights = await openWeightFiles(path);
  try {
    const unused = new Set(weights.tensors.keys());
    for (const slot of slots) {
      const shape = weights.tensors.get(slot.name)?.shape;
      if (shape === undefined && slot === zeroWhenMissing) {
        targetOf(slot).fill(0);
        continue;
      }
      const found = shape ? `[${shape.join(', ')}]` : 'missing';
      const expected = `[${slot.shape.join(', ')}]`;
      if (found !== expected) {
        throw new RekindleError(
          'ModelError',
          `${path}: tensor ${slot.name} is ${found}, expected ${expected}`,
        );
      }
      await weights.readInto(slot.name, targetOf(slot));
      unused.delete(slot.name);
    }
    const unknown = [...unused].find((name) => !isRedundantTensor(name));
    if (unknown !== undefined) {
      throw new RekindleError('ModelError', `${path}: tensor ${unknown} is not part of this model`);
    }
    return weights.metadata;
  } finally {
    await weights.close();
  }
}
