import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { behaviourOf, neededPolicies, schedulingOf, type PastPolicy } from './scheduling.ts';

const weights = { hash: 'sha256:0', size: 1, mediaType: 'application/octet-stream' };

/** A log: each step commits the next iteration, or rolls back. */
function logOf(steps: readonly ('learn' | 'roll back')[]): PastPolicy[] {
  const log: PastPolicy[] = [{ iteration: 0, version: 0, weights, restored: false }];
  for (const step of steps) {
    const { iteration } = log.at(-1)!;
    const restored = step === 'roll back' && iteration > 0;
    log.push({ iteration: restored ? iteration : iteration + 1, version: log.length, weights, restored });
  }
  return log;
}
const steps = fc.array(fc.constantFrom('learn' as const, 'learn' as const, 'roll back' as const), {
  maxLength: 20,
});
const lookaheads = fc.integer({ min: 0, max: 4 });

describe('behaviourOf', () => {
  it('is the newest policy without lookahead, and with it the one that was there so many iterations earlier', () => {
    const log = logOf(['learn', 'learn', 'learn', 'learn']);
    expect(behaviourOf(5, log, 0).iteration).toBe(4);
    expect(behaviourOf(5, log, 1).iteration).toBe(3);
    expect(behaviourOf(6, log, 1).iteration).toBe(4);
    expect(behaviourOf(1, log.slice(0, 1), 3).iteration).toBe(0);
  });

  it('is the restored policy after a rollback', () => {
    const log = logOf(['learn', 'learn', 'learn', 'roll back']);
    expect(behaviourOf(4, log, 2).version).toBe(4);
    expect(behaviourOf(6, log, 2).version).toBe(4);
  });

  it('is the same whenever it is asked: for an iteration begun late, or from a log of which the rest was forgotten', () => {
    fc.assert(
      fc.property(steps, lookaheads, (taken, lookahead) => {
        let kept: PastPolicy[] = [];
        for (const [i, policy] of logOf(taken).entries()) {
          kept = neededPolicies([...kept, policy], lookahead);
          const log = logOf(taken).slice(0, i + 1);
          for (let ahead = 1; ahead <= 1 + lookahead; ahead++) {
            const iteration = policy.iteration + ahead;
            expect(behaviourOf(iteration, kept, lookahead)).toEqual(behaviourOf(iteration, log, lookahead));
          }
        }
      }),
    );
  });

  it('without rollbacks no iteration learns from a policy more than `lookahead` iterations newer', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 20 }), lookaheads, (learned, lookahead) => {
        const log = logOf(Array.from({ length: learned }, () => 'learn' as const));
        for (let ahead = 1; ahead <= 1 + lookahead; ahead++) {
          const iteration = learned + ahead;
          const age = iteration - 1 - behaviourOf(iteration, log, lookahead).iteration;
          expect(age).toBeLessThanOrEqual(lookahead);
        }
      }),
    );
  });
});

it('a schedule that says only its mode has the ordinary settings', () => {
  const ordinary = { heartbeatSeconds: 10, hostSeconds: 5, iterationsPerHistory: 20 };
  const of = (schedule: object) => schedulingOf({ schedule: { ...ordinary, mode: 'sync', ...schedule } });
  expect(of({})).toMatchObject({ lookahead: 0, behaviour: 'fixed', maxStaleness: 0, stragglers: null });
  expect(of({ mode: 'one-step-off' })).toMatchObject({ lookahead: 1, behaviour: 'fixed', maxStaleness: 1 });
  expect(of({ mode: 'async', maxStaleness: 3, stragglerSeconds: 9 })).toMatchObject({
    ...{ lookahead: 3, behaviour: 'newest', maxStaleness: 3, overStale: 'drop', interrupt: false },
    stragglers: { seconds: 9, then: 'resume' },
  });
});
