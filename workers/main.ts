#!/usr/bin/env node
/**
 * The program of a worker process:
 *
 *   node dist/workers/main.js --pools control,cpu --address 127.0.0.1:7233 --namespace default --home .
 */
import { parseWorkerOptions } from './options.ts';
import { runWorker } from './run-worker.ts';

await runWorker(parseWorkerOptions(process.argv.slice(2)));
