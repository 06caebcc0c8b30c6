import { expect, it, vi } from 'vitest';
import type { JournalEventInput } from '../store/journal-events.ts';
import { recordAttempt } from './attempt-record.ts';

const place = { run: 'r', iteration: 1, pool: 'rollout', activity: 'agentTurn', attempt: 1 } as const;

function written(act: (write: (run: string, event: JournalEventInput) => void) => void): JournalEventInput[] {
  const events: JournalEventInput[] = [];
  act((_, event) => events.push(event));
  return events;
}

it('tells of tokens at once, then at most once a second, and of the rest at its end', () => {
  vi.useFakeTimers();
  const events = written((write) => {
    const { work, end } = recordAttempt({ write }, { ...place, input: [1] });
    for (let i = 0; i < 25; i++) {
      work.sampled('a', 1, Date.now());
      vi.advanceTimersByTime(100);
    }
    work.sampled('a', 1, Date.now());
    end(null);
    vi.advanceTimersByTime(5_000);
  });
  vi.useRealTimers();
  const told = events.flatMap((event) => (event.event === 'generated' ? [event.tokens] : []));
  expect(told).toEqual([1, 10, 20]);
  expect(events.at(-1)).toMatchObject({ event: 'attempt-ended', generated: { tokens: 26, underWay: 1 } });
});

it('names its task by its input, so that it is the same whoever schedules it, but not where one input goes to many', () => {
  const taskOf = (activity: string, input: unknown): unknown => {
    const [first] = written((write) => recordAttempt({ write }, { ...place, activity, input: [input] }));
    return first?.event === 'attempt-started' ? first.task : undefined;
  };
  expect(taskOf('agentTurn', { turn: 1 })).toBe(taskOf('agentTurn', { turn: 1 }));
  expect(taskOf('agentTurn', { turn: 1 })).not.toBe(taskOf('agentTurn', { turn: 2 }));
  expect(taskOf('syncWeights', {})).toBeNull();
});
