import { expect, it } from 'vitest';
import type { Engine } from '../../gpu/engine-port.ts';
import { correctOverStale } from './importance.ts';
import { packRows, type PackedRow } from './row-batch.ts';

function row(sample: number, logprobs: number[], overStale?: true): PackedRow {
  return {
    group: 0,
    sample,
    ids: [1, ...logprobs.map((_, i) => i + 2)],
    trained: [0, ...logprobs.map(() => 1 as const)],
    logprobs: [0, ...logprobs],
    advantage: 1,
    ...(overStale && { overStale }),
  };
}

const scoring = (logprobs: number[]): Pick<Engine, 'score'> => ({
  score: (weights) =>
    Promise.resolve(weights === 'parent' ? Float32Array.from(logprobs) : new Float32Array()),
});
const settings = { weights: 'parent', temperature: 1, cap: 2 };

it('over-stale tokens weigh as much likelier as the parent makes them, up to the cap, and take their ratios to the parent', async () => {
  const rows = [row(0, [-1, -1]), row(1, [Math.log(0.5), Math.log(0.1)], true)];
  const mean = await correctOverStale(scoring([0, Math.log(0.25), Math.log(0.9)]), rows, settings);
  const batch = packRows(rows, [1, 1]);
  expect([...batch.importance!].map((weight) => weight.toFixed(4))).toEqual(
    [1, 1, 1, 0, 0.5, 2].map((weight) => weight.toFixed(4)),
  );
  expect(mean).toBeCloseTo(1.25, 6);
  expect(batch.oldLogprobs[1]).toBeCloseTo(-1, 6);
  expect(batch.oldLogprobs[4]).toBeCloseTo(Math.log(0.25), 6);
  expect(batch.oldLogprobs[5]).toBeCloseTo(Math.log(0.9), 6);
});

it('without over-stale rows nothing is scored and no weight is packed', async () => {
  const rows = [row(0, [-1]), row(1, [-2])];
  const engine = { score: () => Promise.reject(new Error('scored')) };
  expect(await correctOverStale(engine, rows, settings)).toBeNull();
  expect(packRows(rows, [1, 1]).importance).toBeUndefined();
});
