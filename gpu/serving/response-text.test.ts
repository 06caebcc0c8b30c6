import fc from 'fast-check';
import { expect, it } from 'vitest';
import { byteLevelTokenizerFiles, endToken } from '../../tests/fixtures/byte-level-tokenizer.ts';
import { loadTokenizer } from '../tokenizer/index.ts';
import { beginningAtEnd, ResponseText, type ResponseTextRules } from './response-text.ts';

const tokenizer = loadTokenizer(byteLevelTokenizerFiles());
const [end] = tokenizer.stopIds;
const plain: ResponseTextRules = {
  stopIds: new Set(tokenizer.stopIds),
  stopStrings: [],
  keepSpecialTokens: false,
  keepStop: false,
};

function textOf(ids: readonly number[], rules: Partial<ResponseTextRules> = {}): string[] {
  const text = new ResponseText(tokenizer, { ...plain, ...rules });
  return [...ids.map((id) => text.push([id])), text.end()];
}

it('joined, is the text of all tokens up to the first stop string, whatever the text', () => {
  const piece = fc.constantFrom('a', 'ab', 'b', 'é', '日', ' ', 'the');
  fc.assert(
    fc.property(fc.array(piece), fc.array(piece, { minLength: 1, maxLength: 2 }), (pieces, stops) => {
      const text = pieces.join('');
      const at = Math.min(...stops.map((stop) => text.indexOf(stop)).filter((i) => i >= 0), text.length);
      expect(textOf(tokenizer.encode(text), { stopStrings: stops }).join('')).toBe(text.slice(0, at));
    }),
  );
});

it('holds back what may become a stop string, and gives it out when it does not', () => {
  const ids = tokenizer.encode('xabay');
  expect(textOf(ids, { stopStrings: ['abc', 'ay!'] })).toEqual(['x', '', '', 'ab', '', 'ay']);
});

it('leaves out the token that stopped it, and keeps it on request', () => {
  const ids = [...tokenizer.encode('hi'), end!];
  expect(textOf(ids).join('')).toBe('hi');
  expect(textOf(ids, { keepStop: true, keepSpecialTokens: true }).join('')).toBe(`hi${endToken}`);
  expect(textOf(ids, { keepSpecialTokens: true }).join('')).toBe('hi');
});

it('names the stop string that was found', () => {
  const text = new ResponseText(tokenizer, { ...plain, stopStrings: ['z', 'b'] });
  text.push(tokenizer.encode('abz'));
  expect(text.matched).toBe('b');
});

it('finds the longest beginning at the end of a text', () => {
  expect(beginningAtEnd('xxab', ['abc', 'b'])).toBe(2);
  expect(beginningAtEnd('abc', ['abc'])).toBe(0);
  expect(beginningAtEnd('', ['abc'])).toBe(0);
});
