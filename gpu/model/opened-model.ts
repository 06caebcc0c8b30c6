/** A model on disk that was found complete and in agreement with itself, whatever its format. */
import type { Tokenizer } from '../tokenizer/tokenizer.ts';
import type { DecoderConfig } from './decoder-config.ts';
import type { ModelFiles } from './model-files.ts';
import type { StoredTensors } from './stored-tensors.ts';

export interface OpenedModel {
  config: DecoderConfig;
  tokenizer: Tokenizer;
  /** config.json, tokenizer.json and so on: a Hugging Face folder without its weights. */
  files: ModelFiles;
  /** Opens the weights, under Hugging Face names. */
  openWeights(): Promise<StoredTensors>;
}
