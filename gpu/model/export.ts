/** Writing a model folder that transformers loads. The folder appears complete or not at all. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { checkWeights } from './check-weights.ts';
import { writeCompleteFolder } from './complete-folder.ts';
import { decoderTensors } from './decoder-tensors.ts';
import { parseHuggingFaceConfig } from './huggingface-config.ts';
import { fileNames, jsonFile, parseJsonFile, requiredFile, type ModelFiles } from './model-files.ts';
import { bytesPerElement, elementCount } from './safetensors-header.ts';
import { safetensorsIndex } from './safetensors-index.ts';
import { writeSafetensors, type TensorSource } from './safetensors.ts';
import type { StoredTensors } from './stored-tensors.ts';

export const exportDtypes = { f32: 'F32', bf16: 'BF16', f16: 'F16' } as const;
export type ExportDtype = keyof typeof exportDtypes;
const torchDtypes = { f32: 'float32', bf16: 'bfloat16', f16: 'float16' } as const;

export interface ExportedModel {
  folder: string;
  files: ModelFiles;
  /** Opens the weights, under Hugging Face names. */
  openWeights(): Promise<StoredTensors>;
  /** Written as this; by default float32, which is exact. */
  dtype?: ExportDtype | undefined;
  /** A tensor begins another file when it would make one larger than this; by default one file. */
  maxShardBytes?: number | undefined;
  /** Told of the bytes of weights written so far, and of all. */
  onProgress?: ((done: number, total: number) => void) | undefined;
}

/** config.json with the dtype of the weights. */
function configFor(bytes: Uint8Array, dtype: ExportDtype): Uint8Array {
  const config = parseJsonFile(bytes, fileNames.config, z.looseObject({}));
  delete config['dtype'];
  return jsonFile({ ...config, torch_dtype: torchDtypes[dtype] });
}

/** Tensors in order, cut into files of at most `most` bytes; a tensor larger than that has a file of its own. */
function planShards(
  sources: readonly TensorSource[],
  bytesOf: (source: TensorSource) => number,
  most: number,
): TensorSource[][] {
  const shards: TensorSource[][] = [];
  let size = 0;
  for (const source of sources) {
    const bytes = bytesOf(source);
    if (shards.length === 0 || size + bytes > most) {
      shards.push([]);
      size = 0;
    }
    shards.at(-1)!.push(source);
    size += bytes;
  }
  return shards;
}

async function writeWeights(folder: string, weights: StoredTensors, model: ExportedModel): Promise<void> {
  const { maxShardBytes = Infinity, onProgress } = model;
  const dtype = exportDtypes[model.dtype ?? 'f32'];
  const bytesOf = ({ shape }: Pick<TensorSource, 'shape'>): number =>
    elementCount(shape) * bytesPerElement[dtype];
  const { decoder } = parseHuggingFaceConfig(requiredFile(model.files, fileNames.config), fileNames.config);
  checkWeights(weights, decoder);
  const tensors = decoderTensors(decoder);
  const total = tensors.reduce((sum, tensor) => sum + bytesOf(tensor), 0);
  let done = 0;
  const sources = tensors.map(({ name, shape }): TensorSource => ({
    name,
    shape,
    data: async () => {
      onProgress?.(done, total);
      const data = new Float32Array(elementCount(shape));
      await weights.readInto(name, data);
      done += bytesOf({ shape });
      return data;
    },
  }));
  const shards = planShards(sources, bytesOf, maxShardBytes);
  const fileOf = (shard: number): string => {
    const number = (value: number): string => String(value).padStart(5, '0');
    return shards.length === 1
      ? fileNames.weights
      : fileNames.weights.replace('.', `-${number(shard + 1)}-of-${number(shards.length)}.`);
  };
  for (const [i, shard] of shards.entries()) {
    await writeSafetensors(join(folder, fileOf(i)), shard, { format: 'pt' }, dtype);
  }
  onProgress?.(total, total);
  if (shards.length === 1) return;
  const files = new Map(shards.map((shard, i) => [fileOf(i), shard.map(({ name }) => name)]));
  await writeFile(join(folder, fileNames.weightsIndex), jsonFile(safetensorsIndex(files, total)));
}

/**
 * Writes config.json, the tokenizer's files and the weights.
 * @returns the absolute path of the folder
 * @throws RekindleError UsageError when the folder exists and is not empty, StoreError when it cannot be written.
 */
export async function exportModel(model: ExportedModel): Promise<string> {
  return writeCompleteFolder(model.folder, async (folder) => {
    const config = configFor(requiredFile(model.files, fileNames.config), model.dtype ?? 'f32');
    const weights = await model.openWeights();
    try {
      for (const [name, bytes] of Object.entries({ ...model.files, [fileNames.config]: config })) {
        await writeFile(join(folder, name), bytes);
      }
      await writeWeights(folder, weights, model);
    } finally {
      await weights.close();
    }
  });
}
