/**
 * The processes of a home: a Temporal server and workers, kept alive by a supervisor in this process. A home has one stack;
 * whoever comes second uses the first one's.
 */
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { packageRoot } from '../activities/recipe/package-root.ts';
import { RekindleError } from '../core/errors.ts';
import type { Pool } from '../core/ids.ts';
import { claimHome, findClaim, type Claim } from '../deploy/home-claim.ts';
import { stateFolder } from '../deploy/home.ts';
import { Supervisor, type ProcessSpec, type SupervisorEvent } from '../deploy/supervisor.ts';
import { ensureTemporal, type TemporalServer } from '../deploy/temporal/dev-server.ts';
import { defaultStoreFolder } from '../store/run-folder.ts';
import { requireSpace } from './disk-space.ts';
import type { ClientSettings } from './settings.ts';

export interface StackOptions {
  settings: ClientSettings;
  /** A server that runs elsewhere; our own is started when undefined. */
  address: string | undefined;
  pools: Pool[];
  say: (line: string) => void;
  /** Ends the start at its next step, and takes down what was started. */
  signal: AbortSignal;
}

export interface Stack {
  address: string;
  uiUrl: string | undefined;
  /** False when another process's stack is used: `stop` does nothing then. */
  ours: boolean;
  subscribe(listener: (event: SupervisorEvent) => void): () => void;
  stop(): Promise<void>;
}

/** Tells the process of a stack to replace its workers. SIGHUP would not do: a terminal that is closed sends it too. */
export const restartSignal = 'SIGUSR2';

/** Pools that share a process: those that hold the weights share one engine; the others are light. */
export const processPools: Pool[][] = [
  ['control', 'cpu', 'env'],
  ['rollout', 'train'],
];

/** Starts the stack of a home, or finds the running one. Throws as `ensureTemporal`, `claimHome` and `requireSpace`. */
export async function openStack(options: StackOptions): Promise<Stack> {
  const { settings, address, pools, say, signal } = options;
  const { home, namespace } = settings;
  await requireSpace(home);
  const claim = claimHome(home, { address: null, pools, store: defaultStoreFolder(path.join(home, 'runs')) });
  if (claim.owner) return useStack(claim.owner, settings, address);

  const supervisor = new Supervisor(home);
  let restarting: Promise<void> = Promise.resolve();
  const restart = (): void => {
    restarting = restarting
      .then(() => restartWorkers(supervisor))
      .catch((error: unknown) => say(`Restart: ${String(error)}`));
  };
  process.on(restartSignal, restart);
  const stop = async (): Promise<void> => {
    process.off(restartSignal, restart);
    const names = supervisor.status().map(({ name }) => name);
    await supervisor.stop(names.filter((name) => name.startsWith('worker-')));
    await supervisor.stop();
    claim.held.release();
  };
  const given = address === undefined ? {} : { address };
  let server: TemporalServer;
  try {
    server = await ensureTemporal({ home, namespace, supervisor, say, ...given });
    signal.throwIfAborted();
    claim.held.update({ address: server.address });
    const specs = workerProcesses(processPoolsOf(pools), { ...settings, address: server.address });
    await supervisor.endLeftovers(['temporal', ...specs.map(({ name }) => name)]);
    for (const spec of specs) await supervisor.start(spec);
    signal.throwIfAborted();
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    address: server.address,
    uiUrl: server.uiUrl,
    ours: true,
    subscribe: (listener) => supervisor.subscribe(listener),
    stop,
  };
}

/** Replaces worker after worker by a new instance; what they are at goes on in the others or in the new ones. */
export async function restartWorkers(supervisor: Supervisor): Promise<void> {
  const names = supervisor.status().map(({ name }) => name);
  for (const name of names.filter((name) => name.startsWith('worker-'))) await supervisor.replace(name);
}

/** How the given pools are spread over processes. */
function processPoolsOf(pools: Pool[]): Pool[][] {
  return processPools
    .map((together) => together.filter((pool) => pools.includes(pool)))
    .filter((together) => together.length > 0);
}

/** A worker process for each list of pools. `program` is what Node runs, with its own arguments first. */
export function workerProcesses(
  processPools: Pool[][],
  { address, namespace, home }: ClientSettings,
  program: string[] = ['--enable-source-maps', path.join(packageRoot, 'dist', 'workers', 'main.js')],
): ProcessSpec[] {
  return processPools.map((together) => {
    const name = `worker-${together.join('+')}`;
    return {
      name,
      command: process.execPath,
      args: [
        ...program,
        ...['--pools', together.join(','), '--address', address, '--namespace', namespace, '--home', home],
      ],
      logFile: path.join(stateFolder(home), 'logs', `${name}.log`),
      announces: true,
      // Two engines would need the memory, and on a GPU the device, of both.
      overlaps: !together.some((pool) => pool === 'rollout' || pool === 'train'),
    };
  });
}

/** Throws UsageError when an address was asked for that is not the one of the running stack. */
async function useStack(owner: Claim, settings: ClientSettings, given: string | undefined): Promise<Stack> {
  const address = await addressOf(owner, settings.home);
  if (given !== undefined && given !== address) {
    throw new RekindleError(
      'UsageError',
      `Temporal at ${given} was asked for, but the stack that runs in ${settings.home} (pid ${owner.pid}) uses ${address}`,
      {
        hint: 'Leave the address out (--address, TEMPORAL_ADDRESS, Temporal profile), end that stack, or choose another folder with --home.',
      },
    );
  }
  const { uiUrl } = await ensureTemporal({ home: settings.home, namespace: settings.namespace, address });
  return {
    address,
    uiUrl,
    ours: false,
    subscribe: () => () => undefined,
    stop: () => Promise.resolve(),
  };
}

/** The owner's address; waits for it while the owner is still starting. */
async function addressOf(owner: Claim, home: string): Promise<string> {
  let claim: Claim | undefined = owner;
  while (claim) {
    if (claim.address !== null) return claim.address;
    await delay(200);
    claim = findClaim(home);
  }
  throw new RekindleError(
    'TemporalError',
    `the stack that was starting in ${home} (pid ${owner.pid}) has ended`,
    {
      hint: 'Run the command again.',
    },
  );
}
