import fc from 'fast-check';
import { expect, it } from 'vitest';
import { runIdPattern } from '../core/ids.ts';
import { checkRunId, defaultRunId } from './run-id.ts';

const moment = new Date(Date.UTC(2026, 0, 5, 7, 8, 9));

it('names a run after its recipe and the UTC time', () => {
  expect(defaultRunId('quickstart', moment)).toBe('quickstart-20260105-070809');
  expect(defaultRunId('./My Recipes/GSM_8k.yaml', moment)).toBe('gsm-8k-20260105-070809');
});

it('gives a well-formed id for any recipe name', () => {
  fc.assert(
    fc.property(fc.string(), (name) => {
      expect(defaultRunId(name, moment)).toMatch(runIdPattern);
    }),
  );
});

it('refuses a malformed id, naming it', () => {
  expect(() => checkRunId('My Run')).toThrow(/"My Run": expected at most 63 lower-case/);
});
