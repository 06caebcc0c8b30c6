/** A worker program with paced engines; PACED_TOKEN_SECONDS and PACED_STEP_SECONDS say how long a token and an optimizer step take. */
import { openLocalStore } from '../../store/local/open-local-store.ts';
import { parseWorkerOptions } from '../../workers/options.ts';
import { runWorker } from '../../workers/run-worker.ts';
import { pacedEngine } from './paced-engine.ts';

const seconds = (name: string): number => Number(process.env[name] ?? 0);

await runWorker(parseWorkerOptions(process.argv.slice(2)), {
  store: openLocalStore,
  engine: () =>
    pacedEngine({ tokenSeconds: seconds('PACED_TOKEN_SECONDS'), stepSeconds: seconds('PACED_STEP_SECONDS') }),
});
