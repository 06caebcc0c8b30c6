/** Whether the parts of a model belong together: config, tokenizer and weights. */
import { RekindleError } from '../../core/errors.ts';
import type { Tokenizer } from '../tokenizer/tokenizer.ts';
import type { DecoderConfig } from './decoder-config.ts';
import { decoderTensors } from './decoder-tensors.ts';
import { families } from './families/index.ts';
import type { StoredTensors } from './stored-tensors.ts';

/** Tensors that some checkpoints carry and that add nothing: a copy of the tied head, and a table computed from the config. */
export function isRedundantTensor(name: string): boolean {
  return /^lm_head\.weight$|\.rotary_emb\.inv_freq$/.test(name);
}

/** @throws RekindleError ModelError that names the tensor that is missing, too many, or of another shape. */
export function checkWeights(
  { path, tensors }: Pick<StoredTensors, 'path' | 'tensors'>,
  config: DecoderConfig,
): void {
  // Before a list of the tensors is made, which is as long as config.json says.
  if (config.layers > tensors.size) {
    throw new RekindleError(
      'ModelError',
      `${path} has ${tensors.size} tensors, config.json asks for ${config.layers} layers (num_hidden_layers)`,
    );
  }
  const unused = new Set(tensors.keys());
  for (const { name, shape } of decoderTensors(config)) {
    const found = tensors.get(name)?.shape.join(', ');
    if (found === undefined) {
      throw new RekindleError('ModelError', `${path} has no tensor '${name}', which config.json asks for`);
    }
    if (found !== shape.join(', ')) {
      throw new RekindleError(
        'ModelError',
        `${path}: tensor '${name}' has shape [${found}], config.json asks for [${shape.join(', ')}]`,
      );
    }
    unused.delete(name);
  }
  const unknown = [...unused].find((name) => !isRedundantTensor(name));
  if (unknown === undefined) return;
  const { architecture } = families[config.family];
  throw new RekindleError('ModelError', `${path}: tensor '${unknown}' is not part of a ${architecture}`);
}

/** An embedding may have more rows than there are tokens; a token without a row cannot be looked up. */
export function requireVocabulary(tokenizer: Tokenizer, config: DecoderConfig, path: string): void {
  if (tokenizer.vocabSize <= config.vocabSize) return;
  throw new RekindleError(
    'ModelError',
    `${path}: the tokenizer has ${tokenizer.vocabSize} tokens, the model only ${config.vocabSize} (vocab_size)`,
    { hint: 'The tokenizer is of another model, or tokens were added without resizing the embedding.' },
  );
}
