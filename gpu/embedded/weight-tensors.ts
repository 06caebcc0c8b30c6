/** Runtime tensors over the pieces of a flat weights (or gradient) array: views, no copies. */
import { tensor, type HostTensor } from './session.ts';
import type { WeightsLayout } from './weights-layout.ts';

/** The engine's tensors of `flat`, by name, each name given a prefix. */
export function weightTensors(
  layout: WeightsLayout,
  flat: Float32Array,
  prefix = '',
): Record<string, HostTensor> {
  return Object.fromEntries(
    layout.tensors.map(({ name, shape, offset, length }) => [
      prefix + name,
      tensor(flat.subarray(offset, offset + length), shape),
    ]),
  );
}
