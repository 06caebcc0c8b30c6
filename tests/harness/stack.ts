/** A whole stack for a test: a real Temporal server and one worker process for each pool, in a folder and on ports of its own. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { connect, type Rekindle } from '../../client/index.ts';
import { workerProcesses } from '../../client/stack.ts';
import { pools, type Pool } from '../../core/ids.ts';
import { stateFolder } from '../../deploy/home.ts';
import { Supervisor, type ProcessStatus, type SupervisorEvent } from '../../deploy/supervisor.ts';
import { ensureTemporal } from '../../deploy/temporal/dev-server.ts';
import { openLocalStore } from '../../store/local/open-local-store.ts';
import type { Store } from '../../store/store.ts';
import { defaultStoreFolder } from '../../store/run-folder.ts';

export type Victim = Pool | 'engine' | 'temporal';

/** Proof that a fault fired: the process that was killed, and that it was seen to end by the signal. */
export interface Witness {
  victim: Victim;
  pid: number;
  signal: string;
  at: string;
}

export interface TestStack {
  home: string;
  address: string;
  runsFolder: string;
  rekindle: Rekindle;
  store: Store;
  events: SupervisorEvent[];
  processes(): { name: string; pid: number | undefined }[];
  /** Undefined when it does not run at the moment. */
  pidOf(victim: Exclude<Victim, 'engine'>): number | undefined;
  /** SIGKILL; resolves when the process is seen to have ended. Undefined when the victim does not run at the moment. */
  kill(victim: Victim): Promise<Witness | undefined>;
  /** Replaces the worker of a pool while it works, as `rekindle restart` does with each. */
  restart(pool: Pool): Promise<void>;
  /** Starts one more worker process of these pools. */
  addWorker(pools: Pool[]): Promise<void>;
  /** Ends the server, does something while it is away, and starts it again under its address. */
  withoutServer(meanwhile: (databaseFiles: string[]) => Promise<void>): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Pools that are listed together share a process; by default each has its own. `program` is what the workers run instead of
 * ours, `env` is added to their environment; `workerAddress` gives the address at which they reach the server, such as a proxy's.
 */
export async function startStack(
  processPools: Pool[][] = pools.map((pool) => [pool]),
  program?: string[],
  env: Record<string, string> = {},
  workerAddress: (server: string) => Promise<string> = (server) => Promise.resolve(server),
): Promise<TestStack> {
  const home = await mkdtemp(join(tmpdir(), 'rekindle-test-'));
  const supervisor = new Supervisor(home, { firstDelay: 50, longestDelay: 500 });
  const events: SupervisorEvent[] = [];
  supervisor.subscribe((event) => events.push(event));
  const place = { home, port: await freePort(), uiPort: await freePort(), supervisor };
  let server = await ensureTemporal(place);
  const settings = { address: await workerAddress(server.address), namespace: 'default', home };
  const startWorkers = async (list: Pool[][], suffix: string): Promise<void> => {
    for (const spec of workerProcesses(list, settings, program)) {
      await supervisor.start({ ...spec, name: `${spec.name}${suffix}`, env });
    }
  };
  await startWorkers(processPools, '');
  let added = 0;
  const rekindle = await connect({ address: server.address, home });
  const runsFolder = join(home, 'runs');
  return {
    home,
    address: server.address,
    runsFolder,
    rekindle,
    store: openLocalStore(defaultStoreFolder(runsFolder)),
    events,
    processes: () => supervisor.status(),
    pidOf: (victim) => processOf(supervisor, victim),
    restart: (pool) => supervisor.replace(statusOf(supervisor, pool)!.name),
    addWorker: (more) => startWorkers([more], `-added-${++added}`),
    async withoutServer(meanwhile) {
      await server.stop();
      const files = await readdir(stateFolder(home));
      const databases = files.filter((name) => /^temporal-.*\.db/.test(name));
      await meanwhile(databases.map((name) => join(stateFolder(home), name)));
      server = await ensureTemporal(place);
    },
    async kill(victim) {
      if (victim === 'engine') return killEngine(supervisor);
      const pid = processOf(supervisor, victim);
      if (pid === undefined) return undefined;
      const at = new Date().toISOString();
      process.kill(pid, 'SIGKILL');
      return { victim, pid, at, signal: await signalThatEnded(events, pid) };
    },
    async stop() {
      await rekindle.close();
      const workers = supervisor.status().map(({ name }) => name);
      await supervisor.stop(workers.filter((name) => name.startsWith('worker-')));
      await server.stop();
      await rm(home, { recursive: true, force: true });
    },
  };
}

function processOf(supervisor: Supervisor, victim: Victim): number | undefined {
  return statusOf(supervisor, victim)?.pid;
}

function statusOf(supervisor: Supervisor, victim: Victim): ProcessStatus | undefined {
  return supervisor.status().find(({ name }) =>
    name
      .replace(/^worker-/, '')
      .split('+')
      .includes(victim),
  );
}

async function signalThatEnded(events: SupervisorEvent[], pid: number): Promise<string> {
  for (;;) {
    const exit = events.find((event) => event.event === 'exited' && event.pid === pid);
    if (exit?.event === 'exited') return exit.signal ?? `exit code ${exit.code}`;
    await delay(10);
  }
}

/** Kills the engine processes of the rollout and the train worker; the witness is of one of them. */
async function killEngine(supervisor: Supervisor): Promise<Witness | undefined> {
  const workers = [processOf(supervisor, 'train'), processOf(supervisor, 'rollout')];
  const children = await Promise.all(workers.flatMap((pid) => (pid === undefined ? [] : [childrenOf(pid)])));
  const engines = [...new Set(children.flat())];
  const at = new Date().toISOString();
  for (const pid of engines) process.kill(pid, 'SIGKILL');
  for (const pid of engines) while (await isAlive(pid)) await delay(10);
  return engines[0] === undefined ? undefined : { victim: 'engine', pid: engines[0], at, signal: 'SIGKILL' };
}

async function childrenOf(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  return text.split(' ').filter(Boolean).map(Number);
}

async function isAlive(pid: number): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return status !== '' && !/\) Z /.test(status);
}

export async function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() =>
        typeof address === 'object' && address !== null
          ? resolve(address.port)
          : reject(new Error('no port')),
      );
    });
  });
}
