/** Opening a model by its path: a Hugging Face folder, or a GGUF file. */
import { openGgufModel } from '../gguf/open-gguf-model.ts';
import { openModelFolder } from './model-folder.ts';
import type { OpenedModel } from './opened-model.ts';

/** Opens and checks a model; the weights themselves are not read. @throws RekindleError ModelError. */
export function openModel(path: string): Promise<OpenedModel> {
  return path.endsWith('.gguf') ? openGgufModel(path) : openModelFolder(path);
}
