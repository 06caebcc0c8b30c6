/**
 * The safetensors files of a model, one or several, as one set of tensors. What is opened agrees with itself: every shard that
 * the index names is there and holds exactly the tensors that the index puts in it.
 */
import { dirname, join } from 'node:path';
import { RekindleError } from '../../core/errors.ts';
import { SafetensorsFile } from './safetensors.ts';
import { readSafetensorsIndex, type SafetensorsIndex } from './safetensors-index.ts';
import type { StoredTensor, StoredTensors } from './stored-tensors.ts';

function requireShard(file: SafetensorsFile, expected: ReadonlySet<string>, indexPath: string): void {
  const found = new Set(file.header.tensors.map(({ name }) => name));
  const missing = [...expected].find((name) => !found.has(name));
  const extra = [...found].find((name) => !expected.has(name));
  if (missing === undefined && extra === undefined) return;
  throw new RekindleError(
    'ModelError',
    missing === undefined
      ? `${file.path} holds tensor '${extra}', which ${indexPath} does not put there`
      : `${file.path} does not hold tensor '${missing}', which ${indexPath} puts there`,
    { hint: 'The files are of different models or revisions; download or export them again.' },
  );
}

function requireTotal({ totalBytes }: SafetensorsIndex, tensors: Iterable<StoredTensor>, path: string): void {
  if (totalBytes === undefined) return;
  let found = 0;
  for (const { bytes } of tensors) found += bytes;
  if (found === totalBytes) return;
  throw new RekindleError(
    'ModelError',
    `${path}: metadata.total_size is ${totalBytes}, but the shards hold ${found} bytes`,
    {
      hint: 'A shard is of another model or revision; download or export the model again.',
    },
  );
}

async function openShards(path: string): Promise<SafetensorsFile[]> {
  if (!path.endsWith('.index.json')) return [await SafetensorsFile.open(path)];
  const index = await readSafetensorsIndex(path);
  const files: SafetensorsFile[] = [];
  try {
    for (const [name, expected] of index.shards) {
      const file = await SafetensorsFile.open(join(dirname(path), name));
      files.push(file);
      requireShard(file, expected, path);
    }
    requireTotal(index, files.flatMap(storedTensors), path);
    return files;
  } catch (error) {
    await Promise.all(files.map((file) => file.close()));
    throw error;
  }
}

function storedTensors(file: SafetensorsFile): StoredTensor[] {
  return file.header.tensors.map(({ name, shape, dtype, begin, end }) => ({
    name,
    shape,
    dtype,
    bytes: end - begin,
  }));
}

/**
 * Opens a safetensors file, or the files of a `model.safetensors.index.json`.
 * @throws RekindleError ModelError when a file is missing, not sound, or not what the index says.
 */
export async function openWeightFiles(path: string): Promise<StoredTensors> {
  const files = await openShards(path);
  const entries = new Map(
    files.flatMap((file) => file.header.tensors.map((entry) => [entry.name, { file, entry }] as const)),
  );
  return {
    path,
    tensors: new Map(files.flatMap(storedTensors).map((tensor) => [tensor.name, tensor])),
    metadata: Object.assign({}, ...files.map(({ header }) => header.metadata)) as Record<string, string>,
    readInto(name, target) {
      const { file, entry } = entries.get(name)!;
      return file.readInto(entry, target);
    },
    close: async () => {
      await Promise.all(files.map((file) => file.close()));
    },
  };
}
