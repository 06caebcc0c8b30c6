import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { metricMeaning } from './metric-names.ts';
import { trajectorySchema, type Outcome, type Trajectory } from './records.ts';
import { shapeBatch, type ShapingSettings } from './shaping.ts';

const settings: ShapingSettings = {
  advantage: { kind: 'grpo', epsilon: 1e-4 },
  whitenAdvantages: false,
  dropTruncated: false,
  dropZeroVarianceGroups: true,
  maxNewTokens: 8,
};
const keepAll = { ...settings, dropZeroVarianceGroups: false };

function trajectory(group: number, sample: number, reward: number, outcome: Outcome = 'scored'): Trajectory {
  return {
    iteration: 1,
    group,
    sample,
    taskId: `task-${group}`,
    turns: [
      {
        observationIds: [1, 2],
        responseIds: [3, 4, 5],
        logprobs: [-0.1, -0.2, -0.3],
        spans: [{ version: 0, tokens: 3 }],
        finish: 'stop',
      },
    ],
    response: '',
    outcome,
    rewards: { 'exact-match': reward },
    reward,
  };
}

describe('shapeBatch', () => {
  it('gives each group its advantages and rows in (group, sample) order', () => {
    const { rows } = shapeBatch(
      [trajectory(1, 1, 3), trajectory(0, 0, 0), trajectory(1, 0, 1), trajectory(0, 1, 1)],
      { ...settings, advantage: { kind: 'dr-grpo' } },
    );
    expect(rows.map((row) => [row.group, row.sample, row.advantage])).toEqual([
      [0, 0, -0.5],
      [0, 1, 0.5],
      [1, 0, -1],
      [1, 1, 1],
    ]);
  });

  it('does not depend on the order in which trajectories come', () => {
    const batch = fc.uniqueArray(fc.tuple(fc.nat(4), fc.nat(5), fc.nat(2)), {
      selector: ([group, sample]) => `${group} ${sample}`,
    });
    fc.assert(
      fc.property(batch, fc.infiniteStream(fc.nat()), (members, keys) => {
        const ordered = members.map(([group, sample, reward]) => trajectory(group, sample, reward));
        const keyed = ordered.map((member) => ({ member, key: keys.next().value! }));
        const shuffled = keyed.sort((a, b) => a.key - b.key).map(({ member }) => member);
        const sorted = ordered.toSorted((a, b) => a.group - b.group || a.sample - b.sample);
        expect(shapeBatch(shuffled, settings).rows).toEqual(shapeBatch(sorted, settings).rows);
      }),
    );
  });

  it('leaves infra-failed and dropped trajectories out of baseline, means and rows, and counts them', () => {
    const lost = [trajectory(0, 2, 100, 'infra-failed'), trajectory(0, 3, Number.NaN, 'dropped')];
    const kept = [trajectory(0, 0, 0, 'failed'), trajectory(0, 1, 1, 'truncated')];
    const withLost = shapeBatch([...kept, ...lost], settings);
    expect(withLost.rows).toEqual(shapeBatch(kept, settings).rows);
    expect(withLost.metrics['reward/mean']).toBe(0.5);
    expect(withLost.metrics['outcomes/infra_failed_share']).toBe(0.25);
    expect(withLost.outcomes).toEqual({ failed: 1, truncated: 1, 'infra-failed': 1, dropped: 1 });
  });

  it('gives the only scored trajectory of a group the advantage 0, without a baseline its reward', () => {
    const members = [trajectory(0, 0, 1), trajectory(0, 1, 0, 'infra-failed')];
    for (const advantage of [settings.advantage, { kind: 'dr-grpo' }, { kind: 'rloo' }] as const) {
      expect(shapeBatch(members, { ...keepAll, advantage }).rows.map((row) => row.advantage)).toEqual([0]);
      expect(shapeBatch(members, { ...settings, advantage }).rows).toEqual([]);
    }
    expect(
      shapeBatch(members, { ...settings, advantage: { kind: 'reinforce', discount: 1 } }).rows[0]!.advantage,
    ).toBe(1);
  });

  it('drops groups without signal if asked to, and reports their share either way', () => {
    const members = [trajectory(0, 0, 0.1), trajectory(0, 1, 0.1), trajectory(1, 0, 0), trajectory(1, 1, 1)];
    expect(shapeBatch(members, settings).rows.map((row) => row.group)).toEqual([1, 1]);
    expect(
      shapeBatch(members, keepAll)
        .rows.map((row) => row.advantage)
        .slice(0, 2),
    ).toEqual([0, 0]);
    expect(shapeBatch(members, settings).metrics['groups/zero_variance_share']).toBe(0.5);
    expect(shapeBatch(members, keepAll).metrics['groups/zero_variance_share']).toBe(0.5);
  });

  it('counts a truncated trajectory in its group and leaves it out of the rows, where the recipe says so', () => {
    const members = [trajectory(0, 0, 1), trajectory(0, 1, 0, 'truncated')];
    const { rows } = shapeBatch(members, {
      ...settings,
      advantage: { kind: 'dr-grpo' },
      dropTruncated: true,
    });
    expect(rows.map((row) => [row.sample, row.advantage])).toEqual([[0, 0.5]]);
  });

  it('keeps a group of equal rewards for reinforce, which learns from it, unless they are 0', () => {
    const members = [trajectory(0, 0, 1), trajectory(0, 1, 1), trajectory(1, 0, 0), trajectory(1, 1, 0)];
    expect(
      shapeBatch(members, { ...settings, advantage: { kind: 'reinforce', discount: 1 } }).rows.map(
        (row) => row.group,
      ),
    ).toEqual([0, 0]);
  });

  it('refuses a reward that is not finite, naming group and sample', () => {
    for (const value of [Number.NaN, Infinity, -Infinity]) {
      expect(() => shapeBatch([trajectory(3, 2, value)], settings)).toThrow(
        `reward of group 3, sample 2 (task task-3) is ${value}, expected a finite number`,
      );
    }
    const bySource = { ...trajectory(3, 2, 1), rewards: { format: Number.NaN } };
    expect(() => shapeBatch([bySource], settings)).toThrow('format of group 3, sample 2');
  });

  it('refuses rewards whose sum overflows, naming group and sample', () => {
    const members = [trajectory(0, 0, 1.7e308), trajectory(0, 1, 1.6e308)];
    expect(() => shapeBatch(members, settings)).toThrow(/advantage of group 0, sample 0 .* too large/);
  });

  it('refuses a sample that occurs twice', () => {
    expect(() => shapeBatch([trajectory(0, 1, 0), trajectory(0, 1, 1)], settings)).toThrow(
      'group 0, sample 1 (task task-0) occurs twice',
    );
  });

  it('says what the batch was like', () => {
    const members = [trajectory(0, 0, 0), trajectory(0, 1, 1, 'truncated')];
    members[1]!.turns[0]!.responseIds = [3];
    members[1]!.turns[0]!.logprobs = [-0.1];
    const { metrics } = shapeBatch(members, { ...settings, advantage: { kind: 'dr-grpo' } });
    expect(metrics).toEqual({
      'reward/mean': 0.5,
      'reward/std': Math.SQRT1_2,
      'reward/min': 0,
      'reward/max': 1,
      'reward/exact-match/mean': 0.5,
      'response_length/mean': 2,
      'response_length/std': Math.SQRT2,
      'response_length/min': 1,
      'response_length/max': 3,
      'groups/count': 1,
      'groups/zero_variance_share': 0,
      'outcomes/truncated_share': 0.5,
      'outcomes/failed_share': 0,
      'outcomes/infra_failed_share': 0,
      'outcomes/dropped_share': 0,
      'advantage/mean': 0,
      'advantage/std': Math.SQRT1_2,
      'advantage/min': -0.5,
      'advantage/max': 0.5,
      'batch/trajectories': 2,
      'batch/rows': 2,
      'batch/trained_tokens': 4,
    });
    expect(Object.keys(metrics).filter((name) => metricMeaning(name) === undefined)).toEqual([]);
  });

  it('gives no rows and no NaN for no trajectories, and for none but lost ones', () => {
    for (const members of [[], [trajectory(0, 0, 1, 'infra-failed')]]) {
      const { rows, metrics } = shapeBatch(members, settings);
      expect(rows).toEqual([]);
      expect(Object.values(metrics).every(Number.isFinite)).toBe(true);
      expect(metrics['reward/mean']).toBeUndefined();
    }
  });

  it('the trajectories of these tests are valid records', () => {
    expect(trajectorySchema.safeParse(trajectory(0, 0, 1)).success).toBe(true);
  });
});
