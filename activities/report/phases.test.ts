import { describe, expect, it } from 'vitest';
import { keys } from '../../core/ids.ts';
import type { Attempt } from '../../store/journal-summary.ts';
import {
  iterationTimelines,
  phaseOfKey,
  secondsBetweenPhases,
  secondsByPhase,
  spansOfAttempts,
  type PhaseSpan,
} from './phases.ts';

const spans: PhaseSpan[] = [
  { phase: 'rollout', iteration: 1, start: 0, end: 2000 },
  { phase: 'rollout', iteration: 1, start: 1000, end: 3000 },
  { phase: 'update', iteration: 1, start: 3500, end: 4500 },
  { phase: 'rollout', iteration: 2, start: 5000, end: 6000 },
];

function attempt(activity: string, iteration: number | null, start: number, end: number | null): Attempt {
  return {
    ...{ activity, iteration, start, end, task: null, attempt: 1, pool: 'cpu', process: 'cpu@host' },
    ...{ session: 's', firstToken: null, generated: null },
    ...{ outcome: end === null ? 'running' : 'completed', error: null },
  };
}

describe('phases', () => {
  it('knows the phase of every business key that holds work, and no other', () => {
    expect(phaseOfKey(keys.batch(3))).toEqual({ phase: 'prepare', iteration: 3 });
    expect(phaseOfKey(keys.shard(12, 4))).toEqual({ phase: 'rollout', iteration: 12 });
    expect(phaseOfKey(keys.shapedRewards(1, 2))).toEqual({ phase: 'reward', iteration: 1 });
    expect(phaseOfKey(keys.candidate(1, 2))).toEqual({ phase: 'update', iteration: 1 });
    expect(phaseOfKey(keys.warmStart(2))).toEqual({ phase: 'warm start', iteration: 0 });
    expect(phaseOfKey(keys.evaluationShard(7, 0))).toEqual({ phase: 'evaluation', iteration: 0 });
    expect(phaseOfKey(keys.opening())).toBeUndefined();
    expect(phaseOfKey(`${keys.shard(1, 0)}/part-0`)).toBeUndefined();
  });

  it('are those of the attempts of a run; closing steps belong to the iteration that was prepared last', () => {
    const attempts = [
      attempt('openRun', null, 0, 1),
      attempt('warmStartActor', null, 1, 2),
      attempt('commitVersion', 1, 2, 3),
      attempt('rolloutShard', 0, 3, 4),
      attempt('prepareBatch', 1, 4, 5),
      attempt('rolloutShard', 1, 5, 6),
      attempt('commitVersion', 1, 6, 7),
      attempt('syncWeights', null, 7, 8),
      attempt('updateActor', 2, 8, null),
    ];
    expect(spansOfAttempts(attempts.toReversed()).map(({ phase, iteration }) => [phase, iteration])).toEqual([
      ['warm start', 0],
      ['commit', 0],
      ['evaluation', 0],
      ['prepare', 1],
      ['rollout', 1],
      ['commit', 1],
      ['sync', 1],
    ]);
  });

  it('counts overlapping shards once', () => {
    expect(secondsByPhase(spans)).toEqual([
      { phase: 'rollout', seconds: 4 },
      { phase: 'update', seconds: 1 },
    ]);
  });

  it('gives the time in which no phase was worked on', () => {
    expect(secondsBetweenPhases(spans)).toBe(1);
    expect(secondsBetweenPhases([])).toBe(0);
  });

  it('places the bars of an iteration relative to its own beginning', () => {
    expect(iterationTimelines(spans)).toEqual([
      {
        iteration: 1,
        origin: 0,
        bars: [
          { phase: 'rollout', start: 0, end: 3 },
          { phase: 'update', start: 3.5, end: 4.5 },
        ],
      },
      { iteration: 2, origin: 5000, bars: [{ phase: 'rollout', start: 0, end: 1 }] },
    ]);
  });
});
