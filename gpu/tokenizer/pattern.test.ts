import { describe, expect, it } from 'vitest';
import { compilePattern } from './pattern.ts';

function matches(regex: string, text: string): string[] {
  return Array.from(text.matchAll(compilePattern({ Regex: regex }, 'here')), ([match]) => match);
}

describe('compilePattern', () => {
  it('knows the white space of Unicode, not that of JavaScript', () => {
    expect(matches('\\s+', 'a\u0085b\ufeffc\u3000')).toEqual(['\u0085', '\u3000']);
    expect(matches('[^\\s]+', 'a\u0085b\ufeff')).toEqual(['a', 'b\ufeff']);
    expect(matches('\\S+', '\u0085\ufeff ')).toEqual(['\ufeff']);
  });

  it('knows digits and word characters of every script', () => {
    expect(matches('\\d+', '12 \u0661\u0662 \u00b2')).toEqual(['12', '\u0661\u0662']);
    expect(matches('\\w+|[\\w]', 'caf\u00e9_1-\u65e5')).toEqual(['caf\u00e9_1', '\u65e5']);
  });

  it('ignores case inside (?i:...) only, with the odd cases of s and k', () => {
    expect(matches("(?i:'s|'ll|[k]x)|'re", "'S '\u017f 'Ll 'RE 're \u212aX")).toEqual([
      "'S",
      "'\u017f",
      "'Ll",
      "'re",
      '\u212aX',
    ]);
  });

  it('takes lines as Ruby does, and escapes that JavaScript refuses', () => {
    expect(matches('^.+$', 'a\u2028b\nc')).toEqual(['a\u2028b', 'c']);
    expect(matches('\\"\\-\\_[\\-x]', '"-_-')).toEqual(['"-_-']);
  });

  it('knows scripts by their name', () => {
    expect(matches('\\p{Han}+', 'a\u65e5\u672cb')).toEqual(['\u65e5\u672c']);
  });

  it('takes a literal text as it is', () => {
    expect('a.b|c'.replace(compilePattern({ String: '.b|' }, 'here'), '-')).toBe('a-c');
  });

  it.each([
    ['x++', 'possessive'],
    ['a?+b', 'possessive'],
    ['[a[b]]', 'sets inside brackets'],
    ['[a&&b]', 'sets inside brackets'],
    ['\\Gx', '\\G is not supported'],
    ['(', 'tokenizer.json: here is a regular expression that cannot be used'],
  ])('refuses %s', (regex, message) => {
    expect(() => compilePattern({ Regex: regex }, 'here')).toThrow(message);
  });
});
