/**
 * Keeps a server at the newest committed version of a run. Each time it compares what is served with what is committed, so that
 * a missed or failed update is made up for by the next.
 */
import { setTimeout as sleep } from 'node:timers/promises';
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
  const { weight_version } = (await served.json()) as { weight_version?: string };
  if (weight_version === String(head.version)) return null;
  const body = { model_path: await store.localPath(head.weights), weight_version: String(head.version) };
  const answer = await fetch(`${url}/update_weights_from_disk`, {
    method: 'POST',
    headers,
    signal,
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(((await answer.json()) as { message: string }).message);
  return head.version;
}
