/**
 * `model.safetensors.index.json`, which names the file of each tensor of a model in several files (shards).
 * Shards are files beside the index: a name that leads elsewhere is refused.
 */
import { stat } from 'node:fs/promises';
import { z } from 'zod';
import { RekindleError } from '../../core/errors.ts';
import { parseJsonFile, readModelFile, shown } from './model-files.ts';

const indexSchema = z.looseObject({
  metadata: z.looseObject({ total_size: z.number().int().nonnegative().optional() }).optional(),
  weight_map: z.record(z.string(), z.string()),
});

export interface SafetensorsIndex {
  /** Names of the tensors of each shard, by its file name. */
  shards: Map<string, Set<string>>;
  /** Bytes of all tensors together, where the index tells. */
  totalBytes: number | undefined;
}

const fileName = /^[^/\\]+\.safetensors$/;
/** Far more than the names of any model's tensors take. */
const maxIndexBytes = 100_000_000;

/** @throws RekindleError ModelError that names the file and the tensor. */
export async function readSafetensorsIndex(path: string): Promise<SafetensorsIndex> {
  const size = (await stat(path).catch(() => undefined))?.size ?? 0;
  if (size > maxIndexBytes) {
    throw new RekindleError('ModelError', `${path}: ${size} bytes, expected at most ${maxIndexBytes}`);
  }
  return parseSafetensorsIndex(await readModelFile(path), path);
}

export function parseSafetensorsIndex(bytes: Uint8Array, path: string): SafetensorsIndex {
  const { metadata, weight_map: files } = parseJsonFile(bytes, path, indexSchema);
  const shards = new Map<string, Set<string>>();
  for (const [tensor, file] of Object.entries(files)) {
    if (!fileName.test(file)) {
      throw new RekindleError(
        'ModelError',
        `${path}: weight_map puts tensor '${tensor}' in ${shown(file)}, expected the name of a .safetensors file in the same folder`,
      );
    }
    const tensors = shards.get(file);
    if (tensors) tensors.add(tensor);
    else shards.set(file, new Set([tensor]));
  }
  if (shards.size === 0) throw new RekindleError('ModelError', `${path}: weight_map names no tensor`);
  return { shards, totalBytes: metadata?.total_size };
}

/** The index of a model that is written in several files. */
export function safetensorsIndex(files: ReadonlyMap<string, readonly string[]>, totalBytes: number): object {
  const entries = [...files].flatMap(([file, tensors]) => tensors.map((tensor) => [tensor, file] as const));
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return { metadata: { total_size: totalBytes }, weight_map: Object.fromEntries(entries) };
}
