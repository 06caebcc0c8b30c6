import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { outcomes, rowSchema, type Outcome, type Trajectory, type Turn } from './records.ts';
import { rowOf } from './rows.ts';

function trajectory(turns: Turn[], outcome: Outcome = 'scored'): Trajectory {
  const place = { iteration: 1, group: 4, sample: 2, taskId: 'seven' };
  return { ...place, turns, response: '', outcome, rewards: {}, reward: 0 };
}

function turn(observationIds: number[], responseIds: number[], logprobs: number[]): Turn {
  return {
    observationIds,
    responseIds,
    logprobs,
    spans: [{ version: 0, tokens: responseIds.length }],
    finish: 'stop',
  };
}

const tokenId = fc.nat(1000);
const sampled = fc.array(fc.tuple(tokenId, fc.double({ min: -20, max: 0, noNaN: true })), { maxLength: 6 });
const anyTurn = fc.tuple(fc.array(tokenId, { maxLength: 6 }), sampled).map(([seen, said]) =>
  turn(
    seen,
    said.map(([id]) => id),
    said.map(([, logprob]) => logprob),
  ),
);
const anyTurns = fc
  .tuple(fc.array(tokenId, { minLength: 1, maxLength: 4 }), fc.array(anyTurn, { maxLength: 4 }))
  .map(([prompt, rest]) => [turn(prompt, [7], [-1]), ...rest]);

describe('rowOf', () => {
  it('joins all turns and trains on sampled tokens alone', () => {
    const row = rowOf(trajectory([turn([1, 2], [3], [-0.5]), turn([4], [5, 6], [-0.25, -0.125])]), 1.5);
    expect(row).toEqual({
      group: 4,
      sample: 2,
      ids: [1, 2, 3, 4, 5, 6],
      trained: [0, 0, 1, 0, 1, 1],
      logprobs: [0, 0, -0.5, 0, -0.25, -0.125],
      advantage: 1.5,
    });
  });

  it('keeps every token, and every log-prob at its token, for any turns', () => {
    fc.assert(
      fc.property(anyTurns, (turns) => {
        const row = rowOf(trajectory(turns), 0)!;
        expect(rowSchema.safeParse(row).success).toBe(true);
        expect(row.ids).toEqual(turns.flatMap((t) => [...t.observationIds, ...t.responseIds]));
        expect(row.trained).toHaveLength(row.ids.length);
        expect(row.logprobs).toHaveLength(row.ids.length);
        const positions = [...row.ids.keys()].filter((t) => row.trained[t] === 1);
        expect(positions.map((t) => row.ids[t])).toEqual(turns.flatMap((t) => t.responseIds));
        expect(positions.map((t) => row.logprobs[t])).toEqual(turns.flatMap((t) => t.logprobs));
        expect(row.logprobs.every((logprob, t) => row.trained[t] === 1 || logprob === 0)).toBe(true);
        expect(row.trained[0]).toBe(0);
      }),
    );
  });

  it('makes a row for every outcome that the policy answers for, and for no other', () => {
    const trained = outcomes.filter(
      (outcome) => rowOf(trajectory([turn([1], [2], [-1])], outcome), 0) !== null,
    );
    expect(trained).toEqual(['scored', 'truncated', 'failed']);
  });

  it('makes no row if nothing was sampled', () => {
    expect(rowOf(trajectory([]), 1)).toBeNull();
    expect(rowOf(trajectory([turn([1, 2], [], [])]), 1)).toBeNull();
  });

  it('refuses log-probs that do not match the sampled tokens', () => {
    expect(() => rowOf(trajectory([turn([1], [2, 3], [-1])]), 0)).toThrow(
      'trajectory of group 4, sample 2 (task seven): turn 0 has 1 log-probs for 2 sampled tokens, expected one each',
    );
    expect(() => rowOf(trajectory([turn([1], [2], [Number.NaN])]), 0)).toThrow(
      'turn 0 has log-prob NaN at sampled token 0, expected a finite number',
    );
  });

  it('refuses a sequence that starts with a sampled token', () => {
    expect(() => rowOf(trajectory([turn([], [2], [-1])]), 0)).toThrow(
      'no token before its first sampled token',
    );
  });
});
