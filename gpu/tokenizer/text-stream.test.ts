import fc from 'fast-check';
import { expect, it } from 'vitest';
import { byteLevelTokenizerFiles } from '../../tests/fixtures/byte-level-tokenizer.ts';
import { TextStream, loadTokenizer } from './index.ts';

const tokenizer = loadTokenizer(byteLevelTokenizerFiles());

it('hands out a character when its last byte has come', () => {
  const stream = new TextStream(tokenizer);
  const pieces = tokenizer.encode('a\u65e5b').map((id) => stream.push(id));
  expect(pieces).toEqual(['a', '', '', '\u65e5', 'b']);
  expect(stream.end()).toBe('');
});

it('ends with a replacement character for what never became one', () => {
  const stream = new TextStream(tokenizer);
  const [first] = tokenizer.encode('\u65e5');
  expect([stream.push(first!), stream.end()]).toEqual(['', '\ufffd']);
});

it('does not wait for ever for a character that cannot come', () => {
  const stream = new TextStream(tokenizer);
  const [, continuation] = tokenizer.encode('\u65e5');
  const pieces = Array.from({ length: 8 }, () => stream.push(continuation!));
  expect(pieces.join('')).toBe('\ufffd'.repeat(8));
});

it('hands out, for any text, what decoding gives at once', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      const stream = new TextStream(tokenizer);
      const ids = tokenizer.encode(text);
      const pieces = [...ids.map((id) => stream.push(id)), stream.end()];
      expect(pieces.join('')).toBe(tokenizer.decode(ids));
    }),
  );
});
