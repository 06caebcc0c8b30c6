/** Writing a model folder that transformers loads. The folder appears complete or not at all. */
import { randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { RekindleError } from '../../core/errors.ts';
import { fileNames, type ModelFiles } from './model-files.ts';

async function refuseUsedFolder(folder: string): Promise<void> {
  const present = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw new RekindleError('UsageError', `${folder} cannot be an export folder: ${error.message}`, {
      cause: error,
    });
  });
  if (present.length > 0) {
    throw new RekindleError('UsageError', `export folder ${folder} is not empty (it has ${present[0]})`, {
      hint: 'Name a folder that does not exist yet.',
    });
  }
}

/**
 * Writes config.json, the tokenizer's files and model.safetensors.
 * @param weightsPath a safetensors file with Hugging Face names, such as a policy version's artifact
 * @returns the absolute path of the folder
 * @throws RekindleError UsageError when the folder exists and is not empty.
 */
export async function exportModel(model: {
  folder: string;
  files: ModelFiles;
  weightsPath: string;
}): Promise<string> {
  const folder = resolve(model.folder);
  await refuseUsedFolder(folder);
  await mkdir(dirname(folder), { recursive: true });
  // Not mkdtemp, whose folders are closed to everyone else.
  const partial = join(dirname(folder), `.${basename(folder)}-${randomUUID()}`);
  await mkdir(partial);
  try {
    for (const [name, bytes] of Object.entries(model.files)) await writeFile(join(partial, name), bytes);
    await pipeline(createReadStream(model.weightsPath), createWriteStream(join(partial, fileNames.weights)));
    await rm(folder, { recursive: true, force: true });
    await rename(partial, folder);
  } catch (error) {
    await rm(partial, { recursive: true, force: true });
    throw error;
  }
  return folder;
}
