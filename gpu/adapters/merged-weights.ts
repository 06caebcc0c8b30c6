/** The weights of a LoRA policy with its adapter added in, as if they were stored so: for exports, which know no adapters. */
import { weightTensors } from '../embedded/weight-tensors.ts';
import { weightsLayout, type TensorSlot } from '../embedded/weights-layout.ts';
import type { HostTensor } from '../embedded/session.ts';
import { readWeights } from '../embedded/policy-files.ts';
import type { WeightsSource } from '../engine-port.ts';
import type { DecoderConfig } from '../model/decoder-config.ts';
import type { StoredTensors } from '../model/stored-tensors.ts';
import { openWeightFiles } from '../model/weight-files.ts';
import { readAdapter, readAdapterForm } from './adapter-files.ts';
import { AdapterMerger } from './merge.ts';

/**
 * Opens a policy's weights: its file as it is, or an adapter merged into its base.
 * @throws RekindleError ModelError when a file is not sound, or the adapter does not fit the base.
 */
export async function openPolicyWeights(
  config: DecoderConfig,
  { path, base }: Pick<WeightsSource, 'path' | 'base'>,
): Promise<StoredTensors> {
  if (base === undefined) return openWeightFiles(path);
  const layout = weightsLayout(config);
  const { settings, scored } = await readAdapterForm(path);
  const adapter = await readAdapter(path, layout, { settings, scored });
  const baseTensors = weightTensors(layout, await readWeights(base.path, layout));
  const merger = new AdapterMerger({ threads: 1 });
  const merged = merger.merge(baseTensors, layout, settings, adapter, scored);
  merger.close();

  const slots = new Map(layout.huggingFace.map((slot) => [slot.name, slot]));
  /** The piece of an engine tensor that has a Hugging Face name of its own. */
  const pieceOf = (slot: TensorSlot): Float32Array => {
    const { name, offset } = layout.tensors.findLast((tensor) => tensor.offset <= slot.offset)!;
    const start = slot.offset - offset;
    return (merged[name] as HostTensor & { data: Float32Array }).data.subarray(start, start + slot.length);
  };
  return {
    path,
    tensors: new Map(
      layout.huggingFace.map(({ name, shape, length }) => [
        name,
        { name, shape, dtype: 'F32', bytes: length * Float32Array.BYTES_PER_ELEMENT },
      ]),
    ),
    metadata: {},
    readInto: async (name, target) => target.set(pieceOf(slots.get(name)!)),
    close: async () => {},
  };
}
