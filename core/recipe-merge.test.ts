import { expect, test } from 'vitest';
import { mergeRecipes } from './recipe-merge.ts';

test('mappings merge key by key, and lists replace', () => {
  const merged = mergeRecipes({ a: { b: 1, c: 2 }, list: [1, 2] }, { a: { c: 3 }, list: [4] });
  expect(merged).toEqual({ a: { b: 1, c: 3 }, list: [4] });
});

test('null removes an inherited key, and never stays in the result', () => {
  expect(mergeRecipes({ warmStart: { maxSteps: 3 }, seed: 1 }, { warmStart: null })).toEqual({ seed: 1 });
  expect(mergeRecipes({}, { a: { b: null, c: 1 } })).toEqual({ a: { c: 1 } });
});

test('another source replaces the old one with all its keys', () => {
  const merged = mergeRecipes(
    { train: { source: 'addition', digits: 3 } },
    { train: { source: 'gsm8k', path: 'rows.jsonl' } },
  );
  expect(merged).toEqual({ train: { source: 'gsm8k', path: 'rows.jsonl' } });
});

test('the merged recipes stay as they were', () => {
  const base = { a: { b: 1 } };
  mergeRecipes(base, { a: { b: null } });
  expect(base).toEqual({ a: { b: 1 } });
});
