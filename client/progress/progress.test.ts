import { createColors } from 'picocolors';
import { describe, expect, it } from 'vitest';
import { runState } from '../../tests/fixtures/run-state.ts';
import type { RunEvent } from '../watch.ts';
import { advance, noProgress, secondsLeft, type Progress } from './progress.ts';
import { renderBlock } from './render-block.ts';
import { renderChanges } from './render-lines.ts';

const options = { run: 'quickstart-1', colors: createColors(false), link: 'http://127.0.0.1:8233/x' };
const trained = { warmStartLoss: 0.441, secondsPerIteration: 3, generatedTokensPerSecond: 24_120.4 };
const first = runState({ ...trained, iteration: 1, rewardMean: 0.4 });
const second = runState({
  ...trained,
  iteration: 2,
  rewardMean: 0.5,
  trainedTokensPerSecond: 18_000,
  evaluation: { before: 0.381, latest: 0.615, latestVersion: 6 },
});

function watch(...events: RunEvent[]): Progress {
  return events.reduce(advance, noProgress);
}

const progress = (state: typeof first): RunEvent => ({ kind: 'progress', state, phase: null });

describe('the block of live progress', () => {
  it('shows phase, iterations with the time left, warm start, rewards, accuracy, speed and link', () => {
    const rollout: RunEvent = {
      kind: 'progress',
      state: second,
      phase: { phase: 'rollout', since: '', done: 1, total: 4 },
    };
    expect(renderBlock(watch(progress(first), rollout), options)).toBe(
      [
        'quickstart-1  quickstart',
        '  phase       training: rollout 1/4',
        '  iteration   ━━╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌ 2/24  about 1 min 06 s left',
        '  warm start  loss 0.441',
        '  reward      ▁█ 0.5',
        '  held-out    38.1 % → 61.5 % policy version 6',
        '  speed       rollout 24,120 tokens/s, training 18,000 tokens/s',
        '  Web UI      http://127.0.0.1:8233/x',
      ].join('\n'),
    );
  });

  it('leaves out what is not known yet', () => {
    const opening = runState({ status: 'opening', iterations: 0, recipe: '' });
    expect(renderBlock(watch(progress(opening)), { ...options, link: null })).toBe(
      'quickstart-1  \n  phase       opening the run',
    );
  });

  it('keeps the last state in sight while it waits for the server', () => {
    const text = renderBlock(
      watch(progress(second), { kind: 'waiting', reason: 'Temporal does not answer' }),
      options,
    );
    expect(text).toContain('2/24');
    expect(text).toMatch(/waiting {5}Temporal does not answer$/);
  });
});

describe('progress', () => {
  it('tells the time left by the usual pace, not by one slow iteration', () => {
    const seconds = [3, 3, 60, 3];
    const events = seconds.map((secondsPerIteration, i) =>
      progress(runState({ iteration: i + 1, secondsPerIteration })),
    );
    expect(secondsLeft(watch(...events))).toBe(20 * 3);
    expect(secondsLeft(noProgress)).toBeNull();
  });

  it('does not start over when the run continues as new', () => {
    const before = watch(progress(second));
    const after = advance(before, progress(runState({ status: 'opening', iteration: 0, iterations: 0 })));
    expect(after).toEqual(before);
    expect(renderChanges(before, after)).toEqual([]);
  });
});

describe('lines of progress', () => {
  it('tell each iteration, evaluation and change of phase once', () => {
    const start = watch(progress(runState({ status: 'warm-start' })));
    expect(renderChanges(noProgress, start)).toEqual(['phase: warm-start']);
    expect(renderChanges(start, start)).toEqual([]);
    const one = advance(start, progress(first));
    expect(renderChanges(start, one)).toEqual([
      'phase: training',
      'warm start: loss 0.441',
      'iteration 1/24, reward 0.4, 3.0 s, rollout 24,120 tokens/s, about 1 min 09 s left',
    ]);
    const two = advance(one, progress(second));
    expect(renderChanges(one, two)).toEqual([
      'iteration 2/24, reward 0.5, 3.0 s, rollout 24,120 tokens/s, about 1 min 06 s left',
      'held-out accuracy of policy version 6: 61.5 %',
    ]);
  });

  it('tell that the server is away, and that it is back', () => {
    const one = watch(progress(first));
    const away = advance(one, { kind: 'waiting', reason: 'Temporal does not answer at here:1' });
    const still = advance(away, { kind: 'waiting', reason: 'Temporal does not answer at here:1' });
    expect(renderChanges(one, away)).toEqual(['waiting: Temporal does not answer at here:1']);
    expect(renderChanges(away, still)).toEqual([]);
    expect(renderChanges(still, advance(still, progress(first)))).toEqual(['connected again']);
  });
});
