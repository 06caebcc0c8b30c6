/** Tokenizers of every kind against the official library: tokenizers-golden.json holds its results (see tokenizers_golden.py). */
import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { jsonFile } from '../../gpu/model/model-files.ts';
import { TextStream, loadTokenizer, type Tokenizer } from '../../gpu/tokenizer/index.ts';

interface Kind {
  tokenizer: object;
  ids: number[][];
  decoded: string[];
  scrambled: number[][];
  scrambledDecoded: string[];
}
const goldenPath = new URL('tokenizers/tokenizers-golden.json', import.meta.url);
const { texts, kinds } = JSON.parse(await readFile(goldenPath, 'utf8')) as {
  texts: string[];
  kinds: Record<string, Kind>;
};

function load(definition: object): Tokenizer {
  return loadTokenizer({ 'tokenizer.json': jsonFile(definition), 'tokenizer_config.json': jsonFile({}) });
}

describe.each(Object.entries(kinds))('a tokenizer of the kind %s', (_, kind) => {
  const tokenizer = load(kind.tokenizer);

  it('gives the token ids of the official library, for any text', () => {
    texts.forEach((text, i) => expect(tokenizer.encode(text), JSON.stringify(text)).toEqual(kind.ids[i]));
  });

  it('gives its texts, also for tokens that no text has', () => {
    kind.ids.forEach((ids, i) => expect(tokenizer.decode(ids), JSON.stringify(ids)).toBe(kind.decoded[i]));
    kind.scrambled.forEach((ids, i) =>
      expect(tokenizer.decode(ids), JSON.stringify(ids)).toBe(kind.scrambledDecoded[i]),
    );
  });

  it('streams the same text, and never a part of a character', () => {
    for (const ids of kind.ids) {
      const stream = new TextStream(tokenizer);
      const pieces = ids.map((id) => stream.push(id));
      expect([...pieces, stream.end()].join('')).toBe(tokenizer.decode(ids));
    }
  });
});
