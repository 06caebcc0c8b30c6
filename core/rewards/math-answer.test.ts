import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mathAnswer } from './math-answer.ts';

function score(response: string, answer: string): number {
  return mathAnswer(response, { id: 't', prompt: 'What is 42? \\boxed{42}', answer });
}

describe('which answer counts', () => {
  it.each([
    ['the last box', 'First \\boxed{1}, no: \\boxed{42}.', 1],
    ['the last box even if an earlier one is right', '\\boxed{42} or rather \\boxed{43}', 0],
    ['the innermost of nested boxes', '\\boxed{\\boxed{42}}', 1],
    ['the last box that is closed', '\\boxed{42} and then \\boxed{43', 1],
    ['a box before a later number', '\\boxed{42} took 7 steps', 1],
    ['a box before ####', '#### 7\n\\boxed{42}', 1],
    ['the number in a box that is never closed, as the last number', 'so \\boxed{42', 1],
    ['an empty box, which is no answer', 'it is 42: \\boxed{}', 0],
    ['the line after ####', 'reasoning 7\n#### 42\n', 1],
    ['the last ####', '#### 7 #### 42', 1],
    ['the last number if nothing is marked', 'From 6 times 7 follows 42.', 1],
    ['the last number, not an earlier right one', '42 is near 43', 0],
    ['the last number if #### stands alone', 'so 42\n####', 1],
    ['a heading of five hashes as no mark', '##### 7\nso 42', 1],
    ['nothing in an empty response', '', 0],
    ['nothing in a response without a number', 'I do not know.', 0],
    ['the response only, never the prompt', 'see above', 0],
  ])('%s', (_, response, expected) => {
    expect(score(response, '42')).toBe(expected);
  });

  it('balances braces inside a box, and takes an escaped one as text', () => {
    expect(score('\\boxed{\\frac{1}{2}}', '1/2')).toBe(1);
    expect(score('{ \\boxed{42} and }}} stray', '42')).toBe(1);
    expect(score('\\boxed{[1, 2\\}}', '[1, 2\\}')).toBe(1);
  });

  it('reads the answer of the task from a whole GSM8K solution, a box, or the bare text', () => {
    expect(score('72', 'She sold 48/2 = <<48/2=24>>24.\n#### 72')).toBe(1);
    expect(score('72', 'so \\boxed{72}')).toBe(1);
    expect(score('\\boxed{1/2}', '\\frac{1}{2}')).toBe(1);
    expect(score('\\boxed{}', '')).toBe(0);
  });
});

describe('which answers are equal', () => {
  it.each([
    ['1,234', '1234'],
    ['$1,234.50', '1234.5'],
    ['\\$18', '18'],
    ['50%', '50'],
    ['50\\%', '50'],
    ['18.', '18'],
    ['18.0', '18'],
    ['.5', '0.5'],
    ['0.5', '\\frac{1}{2}'],
    ['\\dfrac{2}{4}', '1/2'],
    ['-\\frac{1}{2}', '-0.5'],
    ['1/-2', '-1/2'],
    ['−7', '-7'],
    ['+7', '7'],
    ['-0', '0'],
    ['007', '7'],
    ['10\\,000', '10000'],
    [' x + 1 ', 'x + 1'],
    ['0.1', '1/10'],
  ])('%s equals %s', (response, answer) => {
    expect(score(`\\boxed{${response}}`, answer)).toBe(1);
  });

  it.each([
    ['1,2', '12'],
    ['1,23', '123'],
    ['0.3333333333333333', '1/3'],
    ['1/0', '1'],
    ['1/0', '2/0'],
    ['Monday', 'monday'],
    ['4 2', '42'],
    ['1e2', '100'],
    ['４２', '42'],
    ['٤٢', '42'],
    ['42 or 43', '42'],
    ['0x2A', '42'],
    ['', '42'],
    ['-', '42'],
    ['.', '0'],
  ])('%s does not equal %s', (response, answer) => {
    expect(score(`\\boxed{${response}}`, answer)).toBe(0);
  });

  it('tells apart integers that are equal as 64-bit floats', () => {
    expect(score('9007199254740993', '9007199254740992')).toBe(0);
    expect(score('9007199254740993', '9,007,199,254,740,993')).toBe(1);
  });

  it('finds any decimal in prose, with sign and thousands', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -1e9, max: 1e9 }),
        fc.integer({ min: 0, max: 999 }),
        (whole, thousandths) => {
          const number = `${whole}.${String(thousandths).padStart(3, '0')}`;
          const grouped = number.replace(/\B(?<!\.\d*)(?=(\d{3})+(?!\d))/g, ',');
          expect(score(`After 3 steps I get $${grouped}.`, number)).toBe(1);
        },
      ),
    );
  });

  it('takes a minus for a sign only where nothing stands before it', () => {
    expect(score('10-5', '5')).toBe(1);
    expect(score('x=-5', '-5')).toBe(1);
    expect(score('from (2)-5', '5')).toBe(1);
  });

  it('gives 0 or 1 for any text, and never throws', () => {
    const pieces = fc.constantFrom(
      '\\boxed{',
      '}',
      '{',
      '####',
      '-',
      '1',
      ',',
      '.',
      '/',
      '\\frac{',
      '$',
      '%',
      '\n',
      ' ',
    );
    fc.assert(
      fc.property(
        fc.array(pieces, { maxLength: 40 }),
        fc.array(pieces, { maxLength: 8 }),
        (response, answer) => {
          expect([0, 1]).toContain(score(response.join(''), answer.join('')));
        },
      ),
    );
  });

  it('takes very long and very deep responses', () => {
    const digits = '9'.repeat(200_000);
    expect(score(digits, digits)).toBe(1);
    expect(score(digits, `${digits}.0`)).toBe(0);
    expect(score(`${'\\boxed{'.repeat(50_000)}42`, '42')).toBe(1);
    expect(score(`${'1,'.repeat(100_000)}42`, '42')).toBe(1);
  });
});
