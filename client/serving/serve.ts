/** Serves a model over HTTP from an engine's process; see docs/serving.md. */
import { availableParallelism } from 'node:os';
import { RekindleError } from '../../core/errors.ts';
import { EngineClient } from '../../gpu/embedded/engine-client.ts';
import { checkAccess } from '../../gpu/serving/http/access.ts';
import type { ServeRequest } from '../../gpu/serving/start-serving.ts';
import { followRun } from './follow-run.ts';
import { openServed } from './open-served.ts';

export interface ServeOptions {
  /** Default 127.0.0.1; another address needs a token. */
  host?: string;
  /** 0 takes a free one; default 30000. */
  port?: number;
  token?: string;
  /** What requests call the model; by default the run's id or the folder's name. */
  name?: string;
  /** Sequences generated together; default 8. */
  slots?: number;
  /** Default: as many as there are cores. */
  threads?: number;
  /** Longest sequence, at most that of the model; default 4096. */
  contextLength?: number;
  toolCalls?: ServeRequest['toolCalls'];
  /** Samples that may wait for their first token; default 1024. */
  maxWaiting?: number;
  /** How long requests in flight may go on when serving ends; default 10. */
  graceSeconds?: number;
  /** Of a run: seconds between two looks for a newer version. */
  follow?: number;
  /** Hears of what happens meanwhile. */
  tell?: (message: string) => void;
}

export interface Serving {
  url: string;
  model: string;
  weightVersion: string;
  contextLength: number;
  processId: number;
}

const MAX_BODY_BYTES = 32 << 20;

/**
 * Serves until the signal is aborted.
 * @param target a model folder, `<run>`, or `<run>@<version>`
 * @throws RekindleError RunNotFoundError, UsageError, ModelError, PortError; EngineError when the engine's process dies
 */
export async function serve(
  home: string,
  target: string,
  options: ServeOptions,
  onServing: (serving: Serving) => void,
  signal: AbortSignal,
): Promise<void> {
  const { host = '127.0.0.1', port = 30_000, token = null, follow, tell = () => undefined } = options;
  checkAccess({ host, token });
  const served = await openServed(home, target);
  if (follow !== undefined && (!served.run || target.includes('@'))) {
    throw new RekindleError('UsageError', `${target} has no newer versions to follow, expected a run`);
  }
  const contextLength = Math.min(options.contextLength ?? 4096, served.config.maxPositions);
  const engine = new EngineClient({
    config: { ...served.config, maxPositions: contextLength },
    threads: options.threads ?? availableParallelism(),
    slots: options.slots ?? 8,
    tokenizerFiles: served.files,
  });
  const ended = new AbortController();
  const { name, path, files, weights } = served;
  const request: ServeRequest = {
    name: options.name ?? name,
    path,
    files,
    weights,
    toolCalls: options.toolCalls ?? 'auto',
    graceSeconds: options.graceSeconds ?? 10,
    settings: { host, port, token, maxWaiting: options.maxWaiting ?? 1024, maxBodyBytes: MAX_BODY_BYTES },
  };
  let following: Promise<void> | undefined;
  const onListening = (actual: number): void => {
    const url = `http://${reachable(host)}:${actual}`;
    const processId = engine.processId!;
    onServing({ url, model: request.name, weightVersion: weights.version, contextLength, processId });
    if (follow === undefined) return;
    const { id: run, store } = served.run!;
    const stopped = AbortSignal.any([signal, ended.signal]);
    following = followRun({ store, run, url, token, interval: follow }, tell, stopped);
  };
  try {
    await engine.serve(request, onListening, signal);
  } finally {
    ended.abort();
    await following;
    await engine.close();
  }
}

/** An address that this machine reaches a server at. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}
