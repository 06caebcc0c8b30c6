import { fileURLToPath } from 'node:url';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import type { EngineSettings } from '../activities/services.ts';
import { trainEverything } from '../gpu/training-setup.ts';
import { tinyConfig } from '../tests/fixtures/tiny-model.ts';
import { scratchFolder } from '../tests/harness/scratch-folder.ts';
import { EngineKeeper } from './engine-keeper.ts';
import { RunJournals } from './run-journals.ts';

beforeAll(() => {
  // The engine's process runs the TypeScript sources, as this one does.
  const loader = fileURLToPath(new URL('../tests/harness/typescript-loader.mjs', import.meta.url));
  process.execArgv.push('--import', loader);
});

it('runs share an engine when they have one shape and one base', async () => {
  const keeper = new EngineKeeper(new RunJournals(scratchFolder(), 'test'));
  onTestFinished(() => keeper.close());
  const settings: EngineSettings = {
    run: 'one',
    base: 'sha256:a',
    config: tinyConfig,
    device: 'cpu',
    threads: 1,
    slots: 2,
    training: trainEverything,
  };
  const processOf = async (changes: Partial<EngineSettings>): Promise<number> =>
    (await keeper.get({ ...settings, ...changes }).describe()).processId;
  const first = await processOf({});
  expect(await processOf({ run: 'other' })).toBe(first);
  expect(await processOf({ base: 'sha256:b' })).not.toBe(first);
}, 30_000);
