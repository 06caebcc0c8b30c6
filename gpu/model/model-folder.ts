/**
 * Opening a Hugging Face model folder. What is returned is complete and agrees with itself: every file that is needed is there,
 * and the weights have exactly the names and shapes that config.json asks for.
 */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { RekindleError } from '../../core/errors.ts';
import { loadTokenizer } from '../tokenizer/huggingface-tokenizer.ts';
import { checkWeights, requireVocabulary } from './check-weights.ts';
import { parseHuggingFaceConfig } from './huggingface-config.ts';
import { fileNames, readModelFile, requiredFile, type ModelFiles } from './model-files.ts';
import type { OpenedModel } from './opened-model.ts';
import type { StoredTensors } from './stored-tensors.ts';
import { openWeightFiles } from './weight-files.ts';

export interface ModelFolder extends OpenedModel {
  /** The safetensors file, or the index of several. */
  weightsPath: string;
}

const requiredNames = [fileNames.config, fileNames.tokenizer, fileNames.tokenizerConfig];
const optionalNames = [fileNames.generationConfig, fileNames.chatTemplate];

async function readIfPresent(path: string): Promise<Uint8Array | undefined> {
  return (await stat(path).catch(() => undefined)) ? readModelFile(path) : undefined;
}

async function requireFolder(folder: string): Promise<void> {
  const found = await stat(folder).catch(() => undefined);
  if (found?.isDirectory()) return;
  throw new RekindleError(
    'ModelError',
    `model folder ${folder} ${found ? 'is not a folder' : 'does not exist'}`,
    {
      hint: 'Give the path of a folder with config.json, tokenizer.json, tokenizer_config.json and model.safetensors.',
    },
  );
}

const pickled = /^(pytorch_model|consolidated).*\.(bin|pt|pth)$|\.(ckpt|pkl)$/;

/** The weights of a folder: one safetensors file or the index of several. */
async function findWeights(folder: string): Promise<string> {
  const names = await readdir(folder);
  const found = [fileNames.weights, fileNames.weightsIndex].find((name) => names.includes(name));
  if (found !== undefined) return join(folder, found);
  const unsafe = names.find((name) => pickled.test(name));
  if (unsafe === undefined) {
    throw new RekindleError(
      'ModelError',
      `${folder} has no ${fileNames.weights}, nor ${fileNames.weightsIndex}`,
    );
  }
  throw new RekindleError(
    'ModelError',
    `${folder} has its weights in ${unsafe}, a Python pickle, which is not read: it can run any program`,
    {
      hint: 'Look for a revision with safetensors, or convert it where you trust it: from_pretrained, then save_pretrained.',
    },
  );
}

/** Opens and checks a folder; the weights themselves are not read. @throws RekindleError ModelError. */
export async function openModelFolder(folder: string): Promise<ModelFolder> {
  await requireFolder(folder);
  const files: ModelFiles = {};
  for (const name of [...requiredNames, ...optionalNames]) {
    const bytes = await readIfPresent(join(folder, name));
    if (bytes) files[name] = bytes;
  }
  const missing = requiredNames.find((name) => !files[name]);
  if (missing) throw new RekindleError('ModelError', `${folder} has no ${missing}`);

  const configPath = join(folder, fileNames.config);
  const { decoder: config } = parseHuggingFaceConfig(requiredFile(files, fileNames.config), configPath);
  const tokenizer = loadTokenizer(files);
  requireVocabulary(tokenizer, config, folder);
  const weightsPath = await findWeights(folder);
  const openWeights = (): Promise<StoredTensors> => openWeightFiles(weightsPath);
  const weights = await openWeights();
  try {
    checkWeights(weights, config);
  } finally {
    await weights.close();
  }
  return { config, tokenizer, files, openWeights, weightsPath };
}
