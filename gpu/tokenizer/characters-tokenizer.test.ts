import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { charactersTokenizerFiles } from './characters-tokenizer.ts';
import { loadTokenizer } from './index.ts';

const tokenizer = loadTokenizer(charactersTokenizerFiles());

describe('the characters tokenizer', () => {
  it('encodes any 7-bit text as its character codes', () => {
    const text = fc.string({
      unit: fc.integer({ min: 0, max: 127 }).map((code) => String.fromCharCode(code)),
    });
    fc.assert(
      fc.property(text, (s) => {
        expect(tokenizer.encode(s)).toEqual([...s].map((c) => c.charCodeAt(0)));
      }),
    );
  });

  it('decodes codes to text, without the newline that ends a response', () => {
    expect(tokenizer.decode([55, 54, 54, 10])).toBe('766');
    expect(tokenizer.stopIds).toEqual([10]);
    expect(tokenizer.vocabSize).toBe(128);
  });

  it('encodes any other character as SUB', () => {
    expect(tokenizer.encode('a\u00e9\u{1f600}b')).toEqual([97, 26, 26, 98]);
  });
});
