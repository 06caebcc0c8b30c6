/** The tokenizer in the metadata of a GGUF file, as tokenizer.json and tokenizer_config.json. */
import { fileNames, jsonFile, type ModelFiles } from '../model/model-files.ts';
import type { GgufKeys } from './gguf-metadata.ts';
import { preTokenizers } from './gguf-pre-tokenizers.ts';
import { sentencePieceMerges } from './sentence-piece-merges.ts';

/** Kinds of tokens. */
const CONTROL = 3;
const USER_DEFINED = 4;

interface Tokens {
  texts: string[];
  kinds: number[] | undefined;
}

function readTokens(keys: GgufKeys): Tokens {
  const texts = keys.texts('tokenizer.ggml.tokens');
  const kinds = keys.findNumbers('tokenizer.ggml.token_type');
  if (kinds && kinds.length !== texts.length) {
    keys.refuse(
      `tokenizer.ggml.token_type has ${kinds.length} values, tokenizer.ggml.tokens ${texts.length}`,
    );
  }
  return { texts, kinds };
}

function addedTokens({ texts, kinds = [] }: Tokens): object[] {
  return texts.flatMap((content, id) => {
    const kind = kinds[id];
    if (content === '' || (kind !== CONTROL && kind !== USER_DEFINED)) return [];
    const flags = { single_word: false, lstrip: false, rstrip: false, normalized: false };
    return [{ id, content, ...flags, special: kind === CONTROL }];
  });
}

/** The first token of a text is its own; a second of the same name can never be made. */
function vocabulary({ texts }: Tokens): Record<string, number> {
  return Object.fromEntries(texts.map((text, id) => [text, id] as const).reverse());
}

function byteLevelParts(keys: GgufKeys, tokens: Tokens): object {
  const name = keys.findText('tokenizer.ggml.pre') ?? 'default';
  if (!Object.hasOwn(preTokenizers, name)) {
    keys.refuse(
      `tokenizer.ggml.pre is "${name}", supported are ${Object.keys(preTokenizers).join(', ')}`,
      'Take the tokenizer.json of the original model.',
    );
  }
  const { normalizer, preTokenizer, ignoreMerges } = preTokenizers[name]!;
  return {
    normalizer,
    pre_tokenizer: preTokenizer,
    decoder: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true },
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: ignoreMerges,
      vocab: vocabulary(tokens),
      merges: keys.texts('tokenizer.ggml.merges'),
    },
  };
}

function sentencePieceParts(keys: GgufKeys, tokens: Tokens): object {
  const scores =
    keys.findNumbers('tokenizer.ggml.scores') ?? keys.refuse('has no metadata tokenizer.ggml.scores');
  if (scores.length !== tokens.texts.length) {
    keys.refuse(
      `tokenizer.ggml.scores has ${scores.length} values, tokenizer.ggml.tokens ${tokens.texts.length}`,
    );
  }
  const space = '\u2581';
  const prefixed = keys.findFlag('tokenizer.ggml.add_space_prefix') ?? true;
  const replaceSpaces = { type: 'Replace', pattern: { String: ' ' }, content: space };
  const unknown = tokens.texts[keys.findNumber('tokenizer.ggml.unknown_token_id') ?? 0] ?? null;
  return {
    normalizer: prefixed
      ? { type: 'Sequence', normalizers: [{ type: 'Prepend', prepend: space }, replaceSpaces] }
      : replaceSpaces,
    pre_tokenizer: null,
    decoder: {
      type: 'Sequence',
      decoders: [
        { type: 'Replace', pattern: { String: space }, content: ' ' },
        { type: 'ByteFallback' },
        { type: 'Fuse' },
        ...(prefixed ? [{ type: 'Strip', content: ' ', start: 1, stop: 0 }] : []),
      ],
    },
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: unknown,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: true,
      byte_fallback: true,
      ignore_merges: false,
      vocab: vocabulary(tokens),
      merges: sentencePieceMerges(tokens.texts, scores, keys.refuse),
    },
  };
}

/** By `tokenizer.ggml.model`: how a text becomes tokens, and whether a beginning token is added unless the file says. */
const kinds = {
  gpt2: { parts: byteLevelParts, addsBeginning: false },
  llama: { parts: sentencePieceParts, addsBeginning: true },
} as const;

/** @throws RekindleError ModelError for a kind of tokenizer that is not supported. */
export function ggufTokenizerFiles(keys: GgufKeys): ModelFiles {
  const kind = keys.text('tokenizer.ggml.model');
  if (!Object.hasOwn(kinds, kind)) {
    keys.refuse(`tokenizer.ggml.model is "${kind}", supported are ${Object.keys(kinds).join(', ')}`);
  }
  const { parts, addsBeginning } = kinds[kind as keyof typeof kinds];
  const tokens = readTokens(keys);
  const tokenNamed = (name: string): string | null => {
    const id = keys.findNumber(`tokenizer.ggml.${name}_token_id`);
    return id === undefined
      ? null
      : (tokens.texts[id] ??
          keys.refuse(`tokenizer.ggml.${name}_token_id is ${id}, of ${tokens.texts.length} tokens`));
  };
  const beginning = tokenNamed('bos');
  const adds = (keys.findFlag('tokenizer.ggml.add_bos_token') ?? addsBeginning) && beginning !== null;
  const postProcessor = {
    type: 'TemplateProcessing',
    single: [{ SpecialToken: { id: beginning, type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }],
    pair: [{ Sequence: { id: 'A', type_id: 0 } }, { Sequence: { id: 'B', type_id: 1 } }],
    special_tokens: {
      [beginning ?? '']: {
        id: beginning,
        ids: [keys.findNumber('tokenizer.ggml.bos_token_id')],
        tokens: [beginning],
      },
    },
  };
  const template = keys.findText('tokenizer.chat_template');
  return {
    [fileNames.tokenizer]: jsonFile({
      version: '1.0',
      truncation: null,
      padding: null,
      added_tokens: addedTokens(tokens),
      post_processor: adds ? postProcessor : null,
      ...parts(keys, tokens),
    }),
    [fileNames.tokenizerConfig]: jsonFile({
      tokenizer_class: 'PreTrainedTokenizerFast',
      bos_token: beginning,
      eos_token: tokenNamed('eos'),
      unk_token: tokenNamed('unknown'),
      pad_token: tokenNamed('padding'),
      clean_up_tokenization_spaces: false,
      ...(template !== undefined && { chat_template: template }),
    }),
  };
}
