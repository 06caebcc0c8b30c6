import { expect, it, vi } from 'vitest';
import type { JournalEventInput } from '../store/journal-events.ts';
import { watchServer } from './server-watch.ts';

it('writes an absence of the server into the journals of all runs, once it is over', async () => {
  vi.useFakeTimers();
  let answers = true;
  const written: [string, JournalEventInput][] = [];
  const server = {
    workflowService: {
      getSystemInfo: () => (answers ? Promise.resolve({}) : Promise.reject(new Error('unavailable'))),
    },
    withDeadline: (_: unknown, call: () => Promise<unknown>) => call(),
  };
  const end = watchServer(server as unknown as Parameters<typeof watchServer>[0], {
    runs: ['a', 'b'],
    write: (run, event) => written.push([run, event]),
  });
  const start = Date.now();
  await vi.advanceTimersByTimeAsync(5_000);
  answers = false;
  await vi.advanceTimersByTimeAsync(15_000);
  expect(written).toEqual([]);
  answers = true;
  await vi.advanceTimersByTimeAsync(10_000);
  end();
  vi.useRealTimers();
  const [startedAt, endedAt] = [5_000, 25_000].map((ms) => new Date(start + ms).toISOString());
  const event = { event: 'server-away', startedAt, endedAt };
  expect(written).toEqual([
    ['a', event],
    ['b', event],
  ]);
});
