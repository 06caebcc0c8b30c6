/**
 * Weights and optimizer state as safetensors files: the weights under their Hugging Face names, the moments as two flat tensors
 * in the engine's order with the number of optimizer steps in the metadata. The same state gives the same bytes.
 */
import { RekindleError } from '../../core/errors.ts';
import { SafetensorsFile, writeSafetensors } from '../model/safetensors.ts';
import type { Moments } from './trainer.ts';
import type { TensorSlot, WeightsLayout } from './weights-layout.ts';

const FIRST_MOMENT = 'optimizer.first_moment';
const SECOND_MOMENT = 'optimizer.second_moment';
const STEP = 'optimizer_step';

/**
 * Reads weights into a new flat array.
 * @throws RekindleError ModelError when the file is not sound, or a tensor is missing, unknown or of another shape.
 */
export async function readWeights(path: string, layout: WeightsLayout): Promise<Float32Array> {
  const flat = new Float32Array(layout.parameters);
  await readSlots(path, layout.huggingFace, (slot) => flat.subarray(slot.offset, slot.offset + slot.length));
  return flat;
}

/** Writes flat weights. @returns the SHA-256 of the file as `sha256:<hex>` */
export async function writeWeights(path: string, layout: WeightsLayout, flat: Float32Array): Promise<string> {
  const sources = layout.huggingFace.map(({ name, shape, offset, length }) => ({
    name,
    shape,
    data: () => flat.subarray(offset, offset + length),
  }));
  return (await writeSafetensors(path, sources, { format: 'pt' })).hash;
}

/**
 * Reads the optimizer's moments.
 * @throws RekindleError ModelError as `readWeights`, or when the file speaks of another number of steps than `step`.
 */
export async function readMoments(path: string, layout: WeightsLayout, step: number): Promise<Moments> {
  const flat = (): Float32Array => new Float32Array(layout.parameters);
  const moments = { first: flat(), second: flat() };
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

export async function writeMoments(path: string, moments: Moments, step: number): Promise<void> {
  const sources = [
    { name: FIRST_MOMENT, data: moments.first },
    { name: SECOND_MOMENT, data: moments.second },
  ].map(({ name, data }) => ({ name, shape: [data.length], data: () => data }));
  await writeSafetensors(path, sources, { [STEP]: String(step) });
}

/** Reads exactly the given tensors of a file, each into its target; returns the file's metadata. */
async function readSlots(
  path: string,
  slots: readonly TensorSlot[],
  targetOf: (slot: TensorSlot) => Float32Array,
): Promise<Record<string, string>> {
  const file = await SafetensorsFile.open(path);
  try {
    const entries = new Map(file.header.tensors.map((entry) => [entry.name, entry]));
    for (const slot of slots) {
      const entry = entries.get(slot.name);
      const found = entry ? `[${entry.shape.join(', ')}]` : 'missing';
      const expected = `[${slot.shape.join(', ')}]`;
      if (!entry || found !== expected) {
        throw new RekindleError(
          'ModelError',
          `${path}: tensor ${slot.name} is ${found}, expected ${expected}`,
        );
      }
      await file.readInto(entry, targetOf(slot));
      entries.delete(slot.name);
    }
    const [unknown] = entries.keys();
    if (unknown !== undefined) {
      throw new RekindleError('ModelError', `${path}: tensor ${unknown} is not part of this model`);
    }
    return file.header.metadata;
  } finally {
    await file.close();
  }
}
