/**
 * The model that a recipe asks for, new or from a folder, in one form: a decoder config, the small files, and float32 weights
 * under Hugging Face names. The bytes depend only on the recipe and, for `model.path`, the folder's content.
 */
import { RekindleError } from '../../core/errors.ts';
import type { ModelInitialization, Recipe } from '../../core/recipe.ts';
import {
  charactersTokenizerFiles,
  charactersVocabSize,
  newlineId,
} from '../tokenizer/characters-tokenizer.ts';
import type { DecoderConfig } from './decoder-config.ts';
import { decoderFault } from './decoder-fault.ts';
import { parseHuggingFaceConfig, toHuggingFaceConfig } from './huggingface-config.ts';
import { initialConfig, initialWeights } from './initialize.ts';
import { downloadModel } from '../hub/hub-model.ts';
import { decoderTensors } from './decoder-tensors.ts';
import { fileNames, jsonFile, requiredFile, type ModelFiles } from './model-files.ts';
import { openModel } from './open-model.ts';
import type { OpenedModel } from './opened-model.ts';
import { elementCount } from './safetensors-header.ts';
import { writeSafetensors } from './safetensors.ts';

export interface PreparedModel {
  config: DecoderConfig;
  /** config.json, tokenizer.json and so on; everything of a model folder but the weights. */
  files: ModelFiles;
  /** Writes the weights as a safetensors file. @returns its SHA-256 as `sha256:<hex>`, and its size in bytes */
  writeWeights(path: string): Promise<{ hash: string; size: number }>;
  /** Of a model from the hub: its name with the commit that was found, so that it can be had again. */
  hub?: string;
}

function newModel(settings: ModelInitialization, seed: number): PreparedModel {
  const { tokenizer, embeddingStd } = settings;
  const tokenizers = {
    characters: { files: charactersTokenizerFiles, vocabSize: charactersVocabSize, eosId: newlineId },
  };
  const { files, vocabSize, eosId } = tokenizers[tokenizer];
  const config = initialConfig(settings, vocabSize);
  const fault = decoderFault(config);
  if (fault) throw new RekindleError('RecipeError', `model.initialize: ${fault}`);
  return {
    config,
    files: {
      ...files(),
      [fileNames.config]: jsonFile(toHuggingFaceConfig({ decoder: config, bosId: null, eosIds: [eosId] })),
      [fileNames.generationConfig]: jsonFile({ eos_token_id: eosId }),
    },
    writeWeights: (path) => writeSafetensors(path, initialWeights(config, { seed, embeddingStd })),
  };
}

/** Copies weights as float32, without tensors that the decoder does not use. */
async function copyWeights(
  { openWeights, config }: OpenedModel,
  to: string,
): Promise<{ hash: string; size: number }> {
  const weights = await openWeights();
  try {
    const sources = decoderTensors(config).map(({ name, shape }) => ({
      name,
      shape,
      data: async () => {
        const data = new Float32Array(elementCount(shape));
        await weights.readInto(name, data);
        return data;
      },
    }));
    return await writeSafetensors(to, sources);
  } finally {
    await weights.close();
  }
}

async function modelFromPath(path: string): Promise<PreparedModel> {
  const model = await openModel(path);
  const parsed = parseHuggingFaceConfig(requiredFile(model.files, fileNames.config), fileNames.config);
  return {
    config: model.config,
    // Written anew, since the weights become float32 whatever the model's config says.
    files: { ...model.files, [fileNames.config]: jsonFile(toHuggingFaceConfig(parsed)) },
    writeWeights: (to) => copyWeights(model, to),
  };
}

async function modelFromHub(name: string): Promise<PreparedModel> {
  const { path, pinned } = await downloadModel(name);
  return { ...(await modelFromPath(path)), hub: pinned };
}

/**
 * Prepares `model.initialize`, `model.path` or `model.hub`, which is downloaded; writes nothing until `writeWeights` is called.
 * @throws RekindleError RecipeError when the recipe has not exactly one of the three or its sizes do not fit together,
 * ModelError when the model cannot be used.
 */
export async function prepareModel(recipe: Pick<Recipe, 'model' | 'seed'>): Promise<PreparedModel> {
  const { initialize, path, hub } = recipe.model;
  const given = [initialize, path, hub].filter((source) => source !== undefined).length;
  if (given !== 1) {
    throw new RekindleError(
      'RecipeError',
      `model has ${given} of initialize, path and hub, expected exactly one`,
    );
  }
  if (initialize) return newModel(initialize, recipe.seed);
  return path === undefined ? modelFromHub(hub!) : modelFromPath(path);
}
