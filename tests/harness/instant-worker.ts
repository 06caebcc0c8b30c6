/** A worker program with instant engines; INSTANT_GENERATE_SECONDS and INSTANT_STEP_SECONDS say how long they take (0 by default). */
import { openLocalStore } from '../../store/local/open-local-store.ts';
import { parseWorkerOptions } from '../../workers/options.ts';
import { runWorker } from '../../workers/run-worker.ts';
import { instantEngine } from './instant-engine.ts';

const seconds = (name: string): number => Number(process.env[name] ?? 0);

await runWorker(parseWorkerOptions(process.argv.slice(2)), {
  store: openLocalStore,
  engine: () =>
    instantEngine({
      generateSeconds: seconds('INSTANT_GENERATE_SECONDS'),
      stepSeconds: seconds('INSTANT_STEP_SECONDS'),
    }),
});
