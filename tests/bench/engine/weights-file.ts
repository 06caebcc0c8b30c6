/** Weight files for measurements. */
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { WeightsSource } from '../../../gpu/engine-port.ts';
import { weightsLayout } from '../../../gpu/embedded/weights-layout.ts';
import type { DecoderConfig } from '../../../gpu/model/decoder-config.ts';
import { fillNormal } from '../../../gpu/model/initialize.ts';
import { seedAt } from '../../../core/seeds.ts';

const BLOCK = 1 << 20;
const STANDARD_DEVIATION = 0.02;

/**
 * Writes a safetensors file of random weights in the given format. Values of matrices repeat after 2^20: a measurement of
 * time does not see that, and drawing 135 million would take longer than many a measurement.
 */
export async function writeWeightsFile(
  folder: string,
  config: DecoderConfig,
  dtype: 'F32' | 'BF16' = 'F32',
  name = `${config.layers}x${config.hiddenSize}-${dtype}.safetensors`,
): Promise<WeightsSource> {
  const bytesPerElement = dtype === 'F32' ? 4 : 2;
  const { huggingFace } = weightsLayout(config);
  const header: Record<string, unknown> = { __metadata__: { format: 'pt' } };
  for (const { name, shape, offset, length } of huggingFace) {
    const data_offsets = [offset * bytesPerElement, (offset + length) * bytesPerElement];
    header[name] = { dtype, shape, data_offsets };
  }
  const json = Buffer.from(JSON.stringify(header));
  const lengthField = Buffer.alloc(8);
  lengthField.writeBigUInt64LE(BigInt(json.length));

  const normal = new Float32Array(BLOCK);
  fillNormal(normal, seedAt(1, 'initialWeights', 0), STANDARD_DEVIATION);
  const random = encode(normal, dtype);
  const ones = encode(new Float32Array(BLOCK).fill(1), dtype);

  const path = join(folder, name);
  const file = await open(path, 'w');
  try {
    await file.writeFile(lengthField);
    await file.writeFile(json);
    for (const { shape, length } of huggingFace) {
      const block = shape.length === 1 ? ones : random;
      for (let done = 0; done < length; done += BLOCK) {
        await file.writeFile(block.subarray(0, Math.min(BLOCK, length - done) * bytesPerElement));
      }
    }
  } finally {
    await file.close();
  }
  return { tag: name, path };
}

/** Little-endian bytes; bfloat16 keeps the upper half of each float. */
function encode(values: Float32Array, dtype: 'F32' | 'BF16'): Uint8Array {
  if (dtype === 'F32') return new Uint8Array(values.buffer);
  const bits = new Uint32Array(values.buffer);
  return new Uint8Array(Uint16Array.from(bits, (word) => word >>> 16).buffer);
}
