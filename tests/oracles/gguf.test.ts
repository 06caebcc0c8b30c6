/** GGUF files against the gguf package and SentencePiece: gguf-golden.json holds their results (see gguf_golden.py). */
import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { refusing } from '../../gpu/gguf/gguf-error.ts';
import { GgufKeys } from '../../gpu/gguf/gguf-metadata.ts';
import { ggufTokenizerFiles } from '../../gpu/gguf/gguf-tokenizer.ts';
import { ggufTypes } from '../../gpu/gguf/gguf-types.ts';
import { loadTokenizer } from '../../gpu/tokenizer/index.ts';

interface Golden {
  tensors: { type: number; name: string; bytes: string; values: string }[];
  texts: string[];
  sentencePiece: {
    addSpacePrefix: boolean;
    tokens: string[];
    scores: number[];
    kinds: number[];
    ids: number[][];
  }[];
}
const goldenPath = new URL('gguf/gguf-golden.json', import.meta.url);
const golden = JSON.parse(await readFile(goldenPath, 'utf8')) as Golden;

it.each(golden.tensors)(
  'blocks of $name have the values that the gguf package gives',
  ({ type, name, ...block }) => {
    const bytes = Buffer.from(block.bytes, 'base64');
    const expected = new Float32Array(new Uint8Array(Buffer.from(block.values, 'base64')).buffer);
    const kind = ggufTypes[type]!;
    expect(kind.name).toBe(name);
    expect((bytes.length / kind.blockBytes) * kind.blockValues).toBe(expected.length);
    const values = new Float32Array(expected.length);
    kind.dequantize(bytes, values);
    expect(values).toEqual(expected);
  },
);

it('every supported type has a golden', () => {
  expect(golden.tensors.map(({ type }) => type).sort()).toEqual(Object.keys(ggufTypes).map(Number).sort());
});

it.each(golden.sentencePiece)(
  'a SentencePiece vocabulary (space prefix: $addSpacePrefix) gives its ids',
  (model) => {
    const keys = new GgufKeys(
      new Map<string, string | number | boolean | string[] | number[]>([
        ['tokenizer.ggml.model', 'llama'],
        ['tokenizer.ggml.tokens', model.tokens],
        ['tokenizer.ggml.scores', model.scores],
        ['tokenizer.ggml.token_type', model.kinds],
        ['tokenizer.ggml.add_space_prefix', model.addSpacePrefix],
        ['tokenizer.ggml.bos_token_id', 1],
        ['tokenizer.ggml.unknown_token_id', 0],
      ]),
      refusing('model.gguf'),
    );
    const tokenizer = loadTokenizer(ggufTokenizerFiles(keys));
    golden.texts.forEach((text, i) => {
      // SentencePiece itself does not look for its control tokens in a text; tokenizers of model folders do.
      if (text.includes('<s>')) return;
      expect(tokenizer.encode(text), JSON.stringify(text)).toEqual(model.ids[i]);
      expect(tokenizer.decode(model.ids[i]!)).toBe(text);
    });
  },
);
