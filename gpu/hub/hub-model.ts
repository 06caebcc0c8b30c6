/** Models on the hub: of a repository, only the files that are read. */
import { dirname, join } from 'node:path';
import { modelHubPattern } from '../../core/recipe.ts';
import { RekindleError } from '../../core/errors.ts';
import { fileNames } from '../model/model-files.ts';
import { downloadFiles, type DownloadOptions } from './download-files.ts';
import { HubCache } from './hub-cache.ts';
import type { HubFile } from './hub-listing.ts';
import { describeRepository, hubError, type HubRepository } from './hub-repository.ts';
import { hubSettings } from './hub-settings.ts';

export interface HubModel {
  /** A model folder or a GGUF file in the cache. */
  path: string;
  /** The name with the commit as revision. */
  pinned: string;
}

const smallFiles: readonly string[] = [
  fileNames.config,
  fileNames.generationConfig,
  fileNames.tokenizer,
  fileNames.tokenizerConfig,
  fileNames.chatTemplate,
];
const shard = /^[^/]+-\d+-of-\d+\.safetensors$/;

/** Whether a name is that of a model on the hub: `<owner>/<name>[@<revision>][:<file>.gguf]`. */
export function isHubName(name: string): boolean {
  return modelHubPattern.test(name);
}

function parseName(name: string): { repository: HubRepository; file: string | undefined } {
  const [, repository, revision = 'main', file] = modelHubPattern.exec(name) ?? [];
  if (repository === undefined) {
    throw new RekindleError(
      'ModelError',
      `hub model "${name}": expected <owner>/<name>[@<revision>][:<file>.gguf]`,
    );
  }
  return { repository: { type: 'model', name: repository, revision }, file };
}

/** The files of a model: its small ones, and the weights as one file or as an index with its shards. */
function modelFilesOf(files: readonly HubFile[], repository: HubRepository): HubFile[] {
  const has = (name: string): boolean => files.some(({ path }) => path === name);
  if (!has(fileNames.weights) && !has(fileNames.weightsIndex)) {
    const others = files.map(({ path }) => path).filter((path) => /\.(gguf|bin|pth|pt)$/.test(path));
    const gguf = others.find((path) => path.endsWith('.gguf'));
    throw hubError(
      repository,
      `${describeRepository(repository)} has no ${fileNames.weights}${others.length > 0 ? `, but ${others.slice(0, 5).join(', ')}` : ''}`,
      {
        hint: gguf
          ? `Name the GGUF file: ${repository.name}:${gguf}`
          : 'Pickled weights are not read: look for a revision or a copy of the model with safetensors.',
      },
    );
  }
  const isWeights = (path: string): boolean =>
    has(fileNames.weights) ? path === fileNames.weights : path === fileNames.weightsIndex || shard.test(path);
  return files.filter(({ path }) => smallFiles.includes(path) || isWeights(path));
}

/**
 * Downloads a model, `<owner>/<name>[@<revision>]` or with `:<file>.gguf`, into the shared cache.
 * @throws RekindleError ModelError that says what to do.
 */
export async function downloadModel(name: string, options: DownloadOptions = {}): Promise<HubModel> {
  const { repository, file } = parseName(name);
  const select = (files: readonly HubFile[]): readonly HubFile[] => {
    if (file === undefined) return modelFilesOf(files, repository);
    const found = files.filter(({ path }) => path === file);
    if (found.length > 0) return found;
    throw hubError(repository, `${describeRepository(repository)} has no file ${file}`);
  };
  const { commit, folder } = await downloadFiles(repository, select, options);
  return {
    path: file === undefined ? folder : join(folder, file),
    pinned: `${repository.name}@${commit}${file === undefined ? '' : `:${file}`}`,
  };
}

/** The path of a model in the cache; undefined when its config.json, or its GGUF file, is not there. */
export async function cachedModel(name: string): Promise<string | undefined> {
  const { repository, file } = parseName(name);
  const found = await new HubCache(hubSettings(), repository).find(file ?? fileNames.config);
  return found === undefined || file !== undefined ? found : dirname(found);
}
