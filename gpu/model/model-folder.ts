/**
 * Opening a Hugging Face model folder. What is returned is complete and agrees with itself: every file that is needed is there,
 * and the weights have exactly the names and shapes that config.json asks for.
 */
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { RekindleError } from '../../core/errors.ts';
import { loadTokenizer } from '../tokenizer/huggingface-tokenizer.ts';
import type { Tokenizer } from '../tokenizer/tokenizer.ts';
import type { DecoderConfig } from './decoder-config.ts';
import { parseHuggingFaceConfig } from './huggingface-config.ts';
import { decoderTensors } from './decoder-tensors.ts';
import { fileNames, requiredFile, type ModelFiles } from './model-files.ts';
import { SafetensorsFile } from './safetensors.ts';

export interface ModelFolder {
  config: DecoderConfig;
  tokenizer: Tokenizer;
  files: ModelFiles;
  weightsPath: string;
}

const requiredNames = [fileNames.config, fileNames.tokenizer, fileNames.tokenizerConfig];
const optionalNames = [fileNames.generationConfig, fileNames.chatTemplate];

async function readIfPresent(path: string): Promise<Uint8Array | undefined> {
  try {
    return await readFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new RekindleError('ModelError', `${path} cannot be read: ${(error as Error).message}`, {
      cause: error,
    });
  }
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

async function findWeights(folder: string): Promise<string> {
  const exists = (name: string) => stat(join(folder, name)).then(Boolean, () => false);
  if (await exists(fileNames.weights)) return join(folder, fileNames.weights);
  const index = 'model.safetensors.index.json';
  if (await exists(index)) {
    throw new RekindleError(
      'ModelError',
      `${folder} holds sharded weights (${index}), which are not supported`,
      {
        hint: 'Save the model again as one file: save_pretrained with a larger max_shard_size.',
      },
    );
  }
  throw new RekindleError('ModelError', `${folder} has no ${fileNames.weights}`);
}

/** Tensors that some checkpoints carry and that add nothing: the tied head, and a table that is computed from the config. */
const redundantTensor = /^lm_head\.weight$|\.rotary_emb\.inv_freq$/;

/** @throws RekindleError ModelError that names the tensor that is missing, too many, or of another shape. */
export function checkWeights(weights: SafetensorsFile, config: DecoderConfig): void {
  const found = new Map(weights.header.tensors.map((entry) => [entry.name, entry.shape.join(', ')]));
  for (const { name, shape } of decoderTensors(config)) {
    const foundShape = found.get(name);
    if (foundShape === undefined) {
      throw new RekindleError(
        'ModelError',
        `${weights.path} has no tensor '${name}', which config.json asks for`,
      );
    }
    if (foundShape !== shape.join(', ')) {
      throw new RekindleError(
        'ModelError',
        `${weights.path}: tensor '${name}' has shape [${foundShape}], config.json asks for [${shape.join(', ')}]`,
      );
    }
    found.delete(name);
  }
  const unknown = [...found.keys()].find((name) => !redundantTensor.test(name));
  if (unknown !== undefined) {
    throw new RekindleError(
      'ModelError',
      `${weights.path}: tensor '${unknown}' is not part of a LlamaForCausalLM`,
    );
  }
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
  if (tokenizer.vocabSize > config.vocabSize) {
    throw new RekindleError(
      'ModelError',
      `${folder}: the tokenizer has ${tokenizer.vocabSize} tokens, the model only ${config.vocabSize} (vocab_size)`,
    );
  }
  const weightsPath = await findWeights(folder);
  const weights = await SafetensorsFile.open(weightsPath);
  try {
    checkWeights(weights, config);
  } finally {
    await weights.close();
  }
  return { config, tokenizer, files, weightsPath };
}
