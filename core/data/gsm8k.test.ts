import { expect, test } from 'vitest';
import { finalAnswer, gsm8kRowSchema, isHeldOutQuestion, referenceSolution } from './gsm8k.ts';

const row = {
  question: 'A crate holds 12 jars. How many jars are in 100 crates?',
  answer: 'There are 12*100=<<12*100=1200>>1200 jars.\n#### 1,200',
};

test('the final answer is what follows the number signs, without thousands separators', () => {
  expect(finalAnswer(row)).toBe('1200');
  expect(finalAnswer({ ...row, answer: '#### -3.5 ' })).toBe('-3.5');
});

test('the reference solution has no calculator notes and keeps its last line', () => {
  expect(referenceSolution(row)).toBe('There are 12*100=1200 jars.\n#### 1,200');
});

test('an answer without its last line is not a row', () => {
  expect(gsm8kRowSchema.safeParse({ ...row, answer: '1200' }).success).toBe(false);
  expect(gsm8kRowSchema.safeParse({ ...row, question: ' ' }).success).toBe(false);
});

test('about a tenth of the questions is held out', () => {
  const questions = Array.from({ length: 5000 }, (_, i) => `How many legs have ${i} cats?`);
  const share = questions.filter(isHeldOutQuestion).length / questions.length;
  expect(share).toBeGreaterThan(0.08);
  expect(share).toBeLessThan(0.12);
});
