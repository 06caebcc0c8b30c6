import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { EngineSettings } from '../activities/services.ts';
import { aroundCalls } from '../gpu/around-calls.ts';
import type { EngineLoss } from '../gpu/embedded/engine-child.ts';
import { trainEverything } from '../gpu/training-setup.ts';
import { tinyConfig } from '../tests/fixtures/tiny-model.ts';
import { scratchFolder } from '../tests/harness/scratch-folder.ts';
import { readJournals } from '../store/read-journal.ts';
import { runFolder } from '../store/run-folder.ts';
import { EngineKeeper, idleTimes } from './engine-keeper.ts';
import { RunJournals } from './run-journals.ts';

beforeAll(() => {
  // The engine's process runs the TypeScript sources, as this one does.
  const loader = fileURLToPath(new URL('../tests/harness/typescript-loader.mjs', import.meta.url));
  process.execArgv.push('--import', loader);
});

const settings: EngineSettings = {
  run: 'one',
  base: 'sha256:a',
  config: tinyConfig,
  device: 'cpu',
  threads: 1,
  slots: 2,
  training: trainEverything,
  hangSeconds: 120,
};

it('runs share an engine when they have one shape and one base', async () => {
  const keeper = new EngineKeeper(new RunJournals(scratchFolder(), 'test'), '/home');
  onTestFinished(() => keeper.close());
  const processOf = async (changes: Partial<EngineSettings>): Promise<number> =>
    (await keeper.get({ ...settings, ...changes }).describe()).processId;
  const first = await processOf({});
  expect(await processOf({ run: 'other' })).toBe(first);
  expect(await processOf({ base: 'sha256:b' })).not.toBe(first);
}, 30_000);

describe('of engines that are only played', () => {
  let losses: ((loss: EngineLoss) => void)[];
  let closed: string[];
  let finish: (() => void) | undefined;

  function keeperIn(runsFolder: string): { keeper: EngineKeeper; journals: RunJournals } {
    losses = [];
    closed = [];
    finish = undefined;
    const journals = new RunJournals(runsFolder, 'rollout');
    const keeper = new EngineKeeper(journals, '/home', ({ device, slots }, onLost) => {
      losses.push(onLost);
      const engine = aroundCalls((op) => {
        if (op === 'close') closed.push(`${device} ${slots}`);
        const answer = op === 'save' ? new Promise<void>((resolve) => (finish = resolve)) : Promise.resolve();
        return answer as Promise<never>;
      });
      return engine;
    });
    onTestFinished(() => keeper.close());
    return { keeper, journals };
  }

  it('one that nobody has called for long is closed, and one that works is not; the next call opens another', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const { keeper } = keeperIn(scratchFolder());
    const engine = keeper.get(settings);
    await engine.describe();
    const saving = keeper.get({ ...settings, slots: 3 }).save('/folder');
    await vi.advanceTimersByTimeAsync(idleTimes.closed + idleTimes.sweep);
    expect(closed).toEqual(['cpu 2']);
    finish!();
    await saving;
    await engine.describe();
    expect(losses).toHaveLength(3);
  });

  it('one gives way to another on its device when it is not used', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const { keeper } = keeperIn(scratchFolder());
    await keeper.get({ ...settings, device: 'cuda' }).describe();
    await keeper.get({ ...settings, device: 'cuda', slots: 3 }).describe();
    expect(closed).toEqual([]);
    await vi.advanceTimersByTimeAsync(idleTimes.givesWay);
    await keeper.get({ ...settings, device: 'cuda', slots: 4 }).describe();
    expect(closed).toEqual(['cuda 2', 'cuda 3']);
  });

  it('the death of one is written into the journals of the runs that it works for', async () => {
    const runsFolder = scratchFolder();
    const { keeper, journals } = keeperIn(runsFolder);
    await keeper.get({ ...settings, run: 'earlier' }).describe();
    const saving = keeper.get({ ...settings, run: 'now' }).save('/folder');
    await vi.waitUntil(() => finish);
    losses[0]!({ how: 'signal SIGKILL', hung: false, inFlight: 1 });
    finish!();
    await saving;
    await journals.flush();
    const exits = async (run: string) =>
      (await readJournals(runFolder(runsFolder, 'training', run).logs)).lines.filter(
        ({ event }) => event.event === 'engine-exited',
      );
    expect(await exits('earlier')).toEqual([]);
    expect(await exits('now')).toMatchObject([
      { event: { how: 'signal SIGKILL', hung: false, inFlight: 1 } },
    ]);
  });
});
