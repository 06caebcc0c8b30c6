/**
 * Makes sure that a Temporal server answers: the one at a given address, one that already runs here, or our own, which is
 * kept alive until `stop`. Only our own is ever stopped or has its settings changed; any gets our search attributes.
 */
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { RekindleError } from '../../core/errors.ts';
import { Supervisor } from '../supervisor.ts';
import { connectionOptions } from './connection-options.ts';
import { refuseForeignWorkers } from './foreign-workers.ts';
import { keepClosedRuns, registerSearchAttributes, requireNamespace } from './namespace.ts';
import { bindProblem, requireFreePort } from './port.ts';
import { provisionTemporal, sourceContext } from './provision.ts';
import { serverLogFile, serverName, serverProcess, uiPath, type ServerPlace } from './server-process.ts';

export interface TemporalOptions {
  /** State, database and log lie in its `.rekindle` folder. */
  home: string;
  /** `host:port` of a server that runs elsewhere; none is started then. */
  address?: string;
  namespace?: string;
  /** Of our own server; REKINDLE_TEMPORAL_PORT or 7233 when left out. */
  port?: number;
  /** Of our own server's Web UI; 1000 above `port` when left out. */
  uiPort?: number;
  /** Keeps our own server alive; one of its own when left out. */
  supervisor?: Supervisor;
  /** Told about steps that take time. */
  say?: (line: string) => void;
}

export interface TemporalServer {
  address: string;
  namespace: string;
  /** Undefined when no Web UI was found. */
  uiUrl: string | undefined;
  startedByUs: boolean;
  /** Stops the server if it is ours; does nothing otherwise. */
  stop(): Promise<void>;
}

const startWithinMs = 60_000;
/** Enough for a TLS handshake with a distant server. */
const answerWithinMs = 5_000;

/**
 * Throws TemporalError (no server answers at the given address, or ours does not come up), PortError (its port is
 * taken, or serves another home), SetupError (no Temporal CLI to be had).
 */
export async function ensureTemporal(options: TemporalOptions): Promise<TemporalServer> {
  const namespace = options.namespace ?? 'default';
  const say = options.say ?? (() => undefined);
  if (options.address !== undefined) return useServer(options.address, namespace, say);

  const place = placeOf(options, namespace);
  const address = `${place.host}:${place.port}`;
  const supervisor = options.supervisor ?? new Supervisor(options.home);
  const ourLeftover = supervisor.leftover(serverName) !== undefined;
  const answers =
    (await bindProblem(place.host, place.port)) !== undefined &&
    (await isAnswering(address, ourLeftover ? 5_000 : 1_000));
  if (answers && !ourLeftover) return useServer(address, namespace, say, options.home);
  await startOwn(place, supervisor, answers, say);
  return {
    address,
    namespace,
    uiUrl: `http://${place.host}:${place.uiPort}${uiPath}`,
    startedByUs: true,
    stop: () => supervisor.stopProcess(serverName),
  };
}

function placeOf(options: TemporalOptions, namespace: string): ServerPlace {
  const port = options.port ?? portSetting(process.env.REKINDLE_TEMPORAL_PORT);
  return { home: options.home, host: '127.0.0.1', port, uiPort: options.uiPort ?? port + 1000, namespace };
}

function portSetting(value: string | undefined): number {
  const port = value ? Number(value) : 7233;
  if (Number.isInteger(port) && port > 0 && port <= 64_535) return port;
  throw new RekindleError(
    'UsageError',
    `REKINDLE_TEMPORAL_PORT is "${value}", expected a port from 1 to 64535`,
  );
}

/** `home` is given when the server was found rather than asked for: then it may be another home's. */
async function useServer(
  address: string,
  namespace: string,
  say: (line: string) => void,
  home?: string,
): Promise<TemporalServer> {
  const connection = await connect(address, answerWithinMs, answerWithinMs);
  try {
    await requireNamespace(connection, namespace);
    if (home !== undefined) await refuseForeignWorkers(connection, { address, namespace, home });
    await registerSearchAttributes(connection, namespace, say);
  } finally {
    await connection.close();
  }
  return {
    address,
    namespace,
    uiUrl: await findWebUi(address),
    startedByUs: false,
    stop: () => Promise.resolve(),
  };
}

async function startOwn(
  place: ServerPlace,
  supervisor: Supervisor,
  takeOver: boolean,
  say: (line: string) => void,
): Promise<void> {
  if (!takeOver) {
    await supervisor.endLeftover(serverName);
    await requireFreePort(place.host, place.port, 'the Temporal server');
    await requireFreePort(place.host, place.uiPort, 'the Temporal Web UI');
  }
  const program = await provisionTemporal(sourceContext(say));
  const exit = firstExit(supervisor);
  await supervisor.start(serverProcess(program, place), { takeOver });
  const address = `${place.host}:${place.port}`;
  try {
    const connection = await Promise.race([connect(address, startWithinMs), exit.occurred]);
    try {
      await keepClosedRuns(connection, place.namespace);
      await registerSearchAttributes(connection, place.namespace, say);
    } finally {
      await connection.close();
    }
  } catch (error) {
    await supervisor.stopProcess(serverName);
    throw new RekindleError(
      'TemporalError',
      `The Temporal server at ${address} did not start: ${(error as Error).message}`,
      {
        hint: `Its log is ${serverLogFile(place.home)}; it ends: ${await lastLine(serverLogFile(place.home))}`,
        cause: error,
      },
    );
  } finally {
    exit.forget();
  }
}

/** Rejects when the server's process ends, so that a start that cannot succeed is not waited for. */
function firstExit(supervisor: Supervisor): { occurred: Promise<never>; forget: () => void } {
  let forget = (): void => undefined;
  const occurred = new Promise<never>((_, reject) => {
    forget = supervisor.subscribe((event) => {
      if (event.name !== serverName || event.event !== 'exited') return;
      reject(new Error(event.error ?? `it ended with ${event.signal ?? `exit code ${event.code}`}`));
    });
  });
  occurred.catch(() => undefined);
  return { occurred, forget };
}

/** Connects as soon as the server answers; each attempt has `attemptMs`. */
async function connect(address: string, withinMs: number, attemptMs = 1_000): Promise<Connection> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const connection = Connection.lazy({
      ...connectionOptions(address, process.env),
      connectTimeout: Math.min(attemptMs, withinMs),
    });
    try {
      await connection.ensureConnected();
      return connection;
    } catch (error) {
      // Left open, it would go on trying to connect.
      await connection.close();
      if (Date.now() > deadline) {
        throw new RekindleError('TemporalError', `No Temporal server answers at ${address}`, {
          hint: 'Start one there, or leave the address out to have one started on this machine.',
          cause: error,
        });
      }
    }
    await delay(100);
  }
}

async function isAnswering(address: string, withinMs: number): Promise<boolean> {
  try {
    await (await connect(address, withinMs)).close();
    return true;
  } catch {
    return false;
  }
}

/** The development server's Web UI lies 1000 ports above the server, ours under a path of its own. */
async function findWebUi(address: string): Promise<string | undefined> {
  const [host, port] = address.split(':');
  for (const path of [uiPath, '']) {
    const url = `http://${host}:${Number(port) + 1000}${path}`;
    try {
      const response = await fetch(url, { signal: AbortSignal.timeout(1_000) });
      if (response.ok) return url;
    } catch {
      return undefined;
    }
  }
  return undefined;
}

async function lastLine(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text.trim().split('\n').at(-1) || '(empty)';
}
