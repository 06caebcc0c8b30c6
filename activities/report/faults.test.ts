import { hostname } from 'node:os';
import { describe, expect, it } from 'vitest';
import type { Attempt, JournalSummary } from '../../store/journal-summary.ts';
import { faultsInJournals } from './faults.ts';
import type { SupervisorHistory } from './supervisor-history.ts';

function summary(fields: Partial<JournalSummary>): JournalSummary {
  return {
    ...{ attempts: [], secondsByActivity: {}, interrupted: [], retries: 0, engineCalls: [] },
    ...{ engineBusySeconds: 0, faults: [], restarts: {} },
    ...fields,
  };
}

function failed(activity: string, process: string, end: number, error: string): Attempt {
  return {
    ...{ activity, process, end, error, key: null, iteration: 1, attempt: 1, pool: 'train' },
    ...{ start: 0, outcome: 'failed' },
  };
}

const nothingSeen: SupervisorHistory = { processes: new Set(), deaths: [] };
const engineGone = 'EngineError: engine process exited (signal SIGKILL)';

function counted(journals: JournalSummary, supervisor = nothingSeen): Record<string, number> {
  return Object.fromEntries(faultsInJournals(journals, supervisor).map(({ kind, count }) => [kind, count]));
}

describe('faults survived', () => {
  it('count each death of server and workers, by how they died', () => {
    const deaths = [
      { process: 'temporal', how: 'SIGKILL' },
      { process: 'temporal', how: 'SIGKILL' },
      { process: 'worker-cpu', how: 'exit code 1' },
    ];
    expect(counted(summary({}), { processes: new Set(), deaths })).toEqual({
      'death of the Temporal server (SIGKILL)': 2,
      'death of worker-cpu (exit code 1)': 1,
    });
  });

  it('count a process once: by the supervisor where there is one, else by its restarts', () => {
    const restarts = { [`cpu@${hostname()}`]: 2, 'train@elsewhere': 1 };
    expect(counted(summary({ restarts }), { ...nothingSeen, processes: new Set(['worker-cpu']) })).toEqual({
      'restart of train@elsewhere': 1,
    });
  });

  it('count one death of an engine for all attempts that it cut off, and other failures by activity', () => {
    const attempts = [
      failed('rolloutShard', 'rollout@a', 5000, engineGone),
      failed('rolloutShard', 'rollout@a', 5003, engineGone),
      failed('rolloutShard', 'rollout@a', 9000, engineGone),
      failed('updateActor', 'train@a', 5001, engineGone),
      failed('commitVersion', 'cpu@a', 5001, 'StoreError: disk full'),
    ];
    expect(counted(summary({ attempts }))).toEqual({
      'death of an engine (signal SIGKILL)': 3,
      'failed commitVersion': 1,
    });
  });
});
