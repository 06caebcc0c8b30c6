/**
 * The characters tokenizer: a token is a 7-bit character, its id the character's code. A newline ends a response. Any other
 * character becomes SUB, which ASCII sets aside for this ("substitute").
 * It is an ordinary tokenizer.json (byte-pair encoding without merges), so that exported models load elsewhere.
 */
import { fileNames, jsonFile, type ModelFiles } from '../model/model-files.ts';

export const charactersVocabSize = 128;
export const newlineId = 10;
const substituteId = 26;

export function charactersTokenizerFiles(): ModelFiles {
  const character = (code: number): string => String.fromCharCode(code);
  const vocab = Object.fromEntries(
    Array.from({ length: charactersVocabSize }, (_, code) => [character(code), code]),
  );
  const specialToken = (id: number) => ({
    id,
    content: character(id),
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
    special: true,
  });
  return {
    [fileNames.tokenizer]: jsonFile({
      version: '1.0',
      truncation: null,
      padding: null,
      added_tokens: [specialToken(newlineId), specialToken(substituteId)],
      normalizer: null,
      pre_tokenizer: null,
      post_processor: null,
      decoder: { type: 'Fuse' },
      model: {
        type: 'BPE',
        dropout: null,
        unk_token: character(substituteId),
        continuing_subword_prefix: null,
        end_of_word_suffix: null,
        fuse_unk: false,
        byte_fallback: false,
        ignore_merges: false,
        vocab,
        merges: [],
      },
    }),
    [fileNames.tokenizerConfig]: jsonFile({
      tokenizer_class: 'PreTrainedTokenizerFast',
      eos_token: character(newlineId),
      unk_token: character(substituteId),
      clean_up_tokenization_spaces: false,
    }),
  };
}
