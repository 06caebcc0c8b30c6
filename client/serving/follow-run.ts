/**
 * Keeps a server at the newest committed version of a run. Each time it compares what is served with what is committed, so that
 * a missed or failed update is made up for by the next.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { Store } from '../../store/store.ts';

export interface Followed {
  store: Store;
  run: string;
  /** Of the server. */
  url: string;
  token: string | null;
  /** Seconds between two looks. */
  interval: number;
}

/** Goes on until the signal is aborted; faults are told and outlived. */
export async function followRun(
  followed: Followed,
  tell: (message: string) => void,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      const version = await catchUp(followed, signal);
      if (version !== null) tell(`serving policy version ${version}`);
    } catch (error) {
      if (!signal.aborted) tell(`cannot follow ${followed.run}: ${(error as Error).message}`);
    }
    await sleep(followed.interval * 1000, undefined, { signal }).catch(() => undefined);
  }
}

/** @returns the version that the server now has, null when it had it already. */
async function catchUp({ store, run, url, token }: Followed, signal: AbortSignal): Promise<number | null> {
  const head = await store.head(run);
  if (!head) return null;
  const headers = {
    'content-type': 'application/json',
    ...(token !== null && { authorization: `Bearer ${token}` }),
  };
  const served = await fetch(`${url}/get_weight_version`, { headers, signal });
  await requireAnswer(served);
  const { weight_version } = versionSchema.parse(await served.json());
  if (weight_version === String(head.version)) return null;
  const body = { model_path: await store.localPath(head.weights), weight_version: String(head.version) };
  const answer = await fetch(`${url}/update_weights_from_disk`, {
    method: 'POST',
    headers,
    signal,
    body: JSON.stringify(body),
  });
  await requireAnswer(answer);
  return head.version;
}

const versionSchema = z.looseObject({ weight_version: z.string().nullable() });

/** Throws an error that says what the server said. */
async function requireAnswer(response: Response): Promise<void> {
  if (response.ok) return;
  const path = new URL(response.url).pathname;
  throw new Error(`${path} answered ${response.status}: ${(await response.text()).slice(0, 200)}`);
}
