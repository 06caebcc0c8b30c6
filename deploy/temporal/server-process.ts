/** How we start `temporal server start-dev`. */
import path from 'node:path';
import { stateFolder } from '../home.ts';
import type { ProcessSpec } from '../supervision/supervised-process.ts';
import type { TemporalProgram } from './source.ts';

export const serverName = 'temporal';

/** With a path of its own, the Web UI drops a content security policy that leaves it blank in Chrome 158 and later. */
export const uiPath = '/temporal';

export interface ServerPlace {
  home: string;
  host: string;
  port: number;
  uiPort: number;
  namespace: string;
}

/** Survives a kill of the process. A power cut may take the last commits; our store repeats what they held. */
const pragmas = ['journal_mode=WAL', 'synchronous=NORMAL'];

const dynamicConfig: Readonly<Record<string, number | boolean | string>> = {
  // At the default of 30 polls a second, each hop to another task queue waits up to 100 ms.
  'history.transferProcessorMaxPollRPS': 400,
  'history.timerProcessorMaxPollRPS': 400,
  // A parent whose children start and end is locked most of the time. Whoever does not get the lock in the default half second
  // comes again seconds later.
  'history.cacheNonUserContextLockTimeout': '10s',
  // All goes through one connection to the database. At the default of 512 workers each, those in front of it wait so long that
  // they time out and come again when a thousand workflows are open.
  'history.transferProcessorSchedulerWorkerCount': 32,
  'history.timerProcessorSchedulerWorkerCount': 32,
  'history.visibilityProcessorSchedulerWorkerCount': 16,
  'history.shardIOTimeout': '30s',
  // Order and latency on queues that one worker with one slot serves.
  'matching.numTaskqueueReadPartitions': 1,
  'matching.numTaskqueueWritePartitions': 1,
  // Shows the workers in the Web UI.
  'frontend.WorkerHeartbeatsEnabled': true,
};

export function serverLogFile(home: string): string {
  return path.join(stateFolder(home), 'logs', 'temporal.log');
}

/** A database belongs to one server version: another one neither migrates nor refuses it. */
export function databaseFile(home: string, serverVersion: string): string {
  return path.join(stateFolder(home), `temporal-${serverVersion}.db`);
}

export function serverProcess(program: TemporalProgram, place: ServerPlace): ProcessSpec {
  const flags = {
    '--ip': place.host,
    '--port': String(place.port),
    '--ui-port': String(place.uiPort),
    '--ui-public-path': uiPath,
    '--namespace': place.namespace,
    '--db-filename': databaseFile(place.home, program.serverVersion),
    '--log-level': 'warn',
    '--log-format': 'json',
  };
  const args = ['server', 'start-dev', ...Object.entries(flags).flat()];
  for (const pragma of pragmas) args.push('--sqlite-pragma', pragma);
  for (const [key, value] of Object.entries(dynamicConfig))
    args.push('--dynamic-config-value', `${key}=${JSON.stringify(value)}`);
  return { name: serverName, command: program.path, args, logFile: serverLogFile(place.home) };
}
