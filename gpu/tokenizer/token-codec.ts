/**
 * Text to token ids and back, as a tokenizer.json says, with the results of the tokenizers library. Templates that add tokens
 * around a text (`post_processor`) and truncation are left out: nothing that the text does not have is added.
 */
import { z } from 'zod';
import { addedTokenSchema, addedTokenSplitter } from './added-tokens.ts';
import { makeBpe, type Model } from './bpe.ts';
import { makeComponent, type Make } from './component.ts';
import { makeDecoder } from './decoder.ts';
import { makeNormalizer } from './normalizer.ts';
import { makePreTokenizer } from './pre-tokenizer.ts';
import { makeUnigram } from './unigram.ts';

export const tokenizerDefinitionSchema = z.looseObject({
  model: z.looseObject({}),
  normalizer: z.unknown().optional(),
  pre_tokenizer: z.unknown().optional(),
  decoder: z.unknown().optional(),
  added_tokens: z.array(addedTokenSchema).default([]),
});
export type TokenizerDefinition = z.infer<typeof tokenizerDefinitionSchema>;

export interface TokenCodec {
  /** The tokens by id, with holes where no token has an id. */
  readonly vocab: readonly (string | undefined)[];
  encode(text: string): number[];
  /** The text of tokens that are in the vocabulary, special ones included. */
  decode(ids: readonly number[]): string;
  idOf(token: string): number | undefined;
}

const models: Readonly<Record<string, Make<{ model: Model; ids: Map<string, number> }>>> = {
  BPE: makeBpe,
  Unigram: makeUnigram,
};

/** @throws RekindleError ModelError that names what is not supported or does not fit together. */
export function makeTokenCodec(definition: TokenizerDefinition): TokenCodec {
  // Older files leave the type out; only byte-pair encoding has merges.
  const model = 'merges' in definition.model ? { type: 'BPE', ...definition.model } : definition.model;
  const { model: tokensOf, ids } = makeComponent(model, 'model', models);
  const added = definition.added_tokens;
  const addedIds = new Map(added.map(({ content, id }) => [content, id]));
  const normalize = makeNormalizer(definition.normalizer, 'normalizer');
  const vocab: (string | undefined)[] = [];
  for (const [token, id] of ids) vocab[id] = token;
  // An added token that is found in normalized text is also decoded to it.
  for (const { content, id, normalized } of added) vocab[id] = normalized ? normalize(content) : content;
  const preTokenize = makePreTokenizer(definition.pre_tokenizer, 'pre_tokenizer');
  const decode = makeDecoder(definition.decoder, 'decoder');
  const split = addedTokenSplitter(added, normalize);

  return {
    vocab,
    idOf: (token) => addedIds.get(token) ?? ids.get(token),
    // A surrogate without its other half is no character; UTF-8 has the replacement character in its place.
    encode: (text) =>
      split(text.replace(/\p{Surrogate}/gu, '\ufffd')).flatMap((section) =>
        'id' in section ? [section.id] : preTokenize(section).flatMap((piece) => [...tokensOf(piece.text)]),
      ),
    decode: (known) => decode(known.map((id) => vocab[id]!)).join(''),
  };
}
