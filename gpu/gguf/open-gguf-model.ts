/** A GGUF file as a model: its config, its tokenizer and its weights in the form of a Hugging Face folder. */
import { requireVocabulary, checkWeights } from '../model/check-weights.ts';
import { parseHuggingFaceConfig } from '../model/huggingface-config.ts';
import { fileNames, jsonFile, type ModelFiles } from '../model/model-files.ts';
import type { OpenedModel } from '../model/opened-model.ts';
import { loadTokenizer } from '../tokenizer/huggingface-tokenizer.ts';
import { architectureOf, endTokenIds, ggufConfig } from './gguf-config.ts';
import { refusing } from './gguf-error.ts';
import { GgufFile } from './gguf-file.ts';
import { GgufKeys } from './gguf-metadata.ts';
import { ropeFactorsName } from './gguf-names.ts';
import { ggufTokenizerFiles } from './gguf-tokenizer.ts';

async function readRopeFactors(file: GgufFile): Promise<Float32Array | undefined> {
  const shape = file.tensors.get(ropeFactorsName)?.shape;
  if (shape === undefined) return undefined;
  const factors = new Float32Array(shape.reduce((product, extent) => product * extent, 1));
  await file.readInto(ropeFactorsName, factors);
  return factors;
}

/** Opens and checks a file; the weights themselves are not read. @throws RekindleError ModelError. */
export async function openGgufModel(path: string): Promise<OpenedModel> {
  const file = await GgufFile.open(path);
  try {
    const keys = new GgufKeys(file.header.metadata, refusing(path));
    const architecture = architectureOf(keys);
    const files: ModelFiles = {
      [fileNames.config]: jsonFile(ggufConfig(keys, file.header, await readRopeFactors(file))),
      [fileNames.generationConfig]: jsonFile({ eos_token_id: endTokenIds(keys) }),
      ...ggufTokenizerFiles(keys),
    };
    const { decoder: config } = parseHuggingFaceConfig(files[fileNames.config]!, path);
    const tokenizer = loadTokenizer(files);
    requireVocabulary(tokenizer, config, path);
    const weights = new Map(file.tensors);
    weights.delete(ropeFactorsName);
    checkWeights({ path, tensors: weights }, config);
    return {
      config,
      tokenizer,
      files,
      openWeights: async () => {
        const opened = await GgufFile.open(path);
        if (architecture === 'llama') opened.undoRotaryOrder(config.headSize);
        return opened;
      },
    };
  } finally {
    await file.close();
  }
}
