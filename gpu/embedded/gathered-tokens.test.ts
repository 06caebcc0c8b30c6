import { expect, it } from 'vitest';
import type { TokenDelta } from '../engine-port.ts';
import { gathered } from './gathered-tokens.ts';

it('tells the first tokens at once, and then all that came since, sample by sample, when the time has passed', () => {
  const told: TokenDelta[][] = [];
  let time = 0;
  const hear = gathered(
    1,
    (deltas) => void told.push(deltas),
    () => time,
  );
  const delta = (sample: number, id: number): TokenDelta => ({
    prompt: 0,
    sample,
    ids: [id],
    logprobs: [-id],
  });
  hear([delta(0, 1), delta(1, 2)]);
  time = 400;
  hear([delta(0, 3)]);
  time = 999;
  hear([delta(0, 4), delta(1, 5)]);
  expect(told).toHaveLength(1);
  time = 1000;
  hear([delta(1, 6)]);
  expect(told).toEqual([
    [delta(0, 1), delta(1, 2)],
    [
      { prompt: 0, sample: 0, ids: [3, 4], logprobs: [-3, -4] },
      { prompt: 0, sample: 1, ids: [5, 6], logprobs: [-5, -6] },
    ],
  ]);
});
