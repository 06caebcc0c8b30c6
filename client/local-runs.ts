/** Runs as this home's folders tell them: what needs no server and no worker. */
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { formatAccuracy, formatSeconds } from '../activities/report/format.ts';
import { RekindleError } from '../core/errors.ts';
import { runIdPattern } from '../core/ids.ts';
import type { LogEntry, Meta } from '../core/records.ts';
import { openLocalStore } from '../store/local/open-local-store.ts';
import {
  defaultStoreFolder,
  findRunFolder,
  readMeta,
  runFolder,
  type RunFolder,
} from '../store/run-folder.ts';
import type { Store } from '../store/store.ts';
import { verifyRun, type Verification } from '../store/verify.ts';
import { checkRunId } from './run-id.ts';
import { commandLine } from './terminal/command-line.ts';
import { formatTable } from './terminal/table.ts';

export function runsFolder(home: string): string {
  return path.join(home, 'runs');
}

export function storeOf(home: string): Store {
  return openLocalStore(defaultStoreFolder(runsFolder(home)));
}

/** `meta.json` of every training run of a home, newest first. */
export async function listLocalMetas(home: string): Promise<Meta[]> {
  const found = await readdir(path.join(runsFolder(home), 'training')).catch(() => []);
  const names = found.filter((name) => runIdPattern.test(name));
  const metas = await Promise.all(
    names.map((name) => readMeta(runFolder(runsFolder(home), 'training', name))),
  );
  return metas.flatMap((meta) => meta ?? []).sort((a, b) => b.startedAt.localeCompare(a.startedAt));
}

export async function findLocalMeta(home: string, run: string): Promise<Meta | undefined> {
  const folder = await findRunFolder(runsFolder(home), checkRunId(run));
  return folder && readMeta(folder);
}

/** The store of a home, if the run has a commit log there. Throws RunNotFoundError otherwise. */
export async function requireLog(home: string, run: string): Promise<Store> {
  const store = storeOf(home);
  if (await store.head(checkRunId(run))) return store;
  throw new RekindleError('RunNotFoundError', `no run ${run} in the store ${store.location}`, {
    hint: `\`${commandLine('list')}\` shows the runs; --home names another folder.`,
  });
}

/** Store, folder and meta of a run in this home. Throws RunNotFoundError. */
export async function requireLocalRun(
  home: string,
  run: string,
): Promise<{ store: Store; folder: RunFolder; meta: Meta }> {
  const store = await requireLog(home, run);
  const folder = await findRunFolder(runsFolder(home), run);
  const meta = folder && (await readMeta(folder));
  if (folder && meta) return { store, folder, meta };
  throw new RekindleError('RunNotFoundError', `run ${run} has no folder in ${runsFolder(home)}`);
}

/** An entry of a run's log, the newest unless a version is given. Throws RunNotFoundError naming the newest. */
export async function policyVersion(store: Store, run: string, version?: number): Promise<LogEntry> {
  const head = await store.head(run);
  const entry = version === undefined ? head : await store.entry(run, version);
  if (entry) return entry;
  throw new RekindleError('RunNotFoundError', `run ${run} has no policy version ${version}`, {
    hint: `The newest is ${head?.version}.`,
  });
}

/** Audits a run from its store alone. Throws RunNotFoundError for a run without a log; other damage is in the result. */
export async function verifyLocalRun(home: string, run: string): Promise<Verification> {
  const store = await requireLog(home, run);
  const meta = await findLocalMeta(home, run);
  return verifyRun(store, run, { finished: meta?.status === 'completed' });
}

export function formatMeta(meta: Meta): string {
  const { before, after } = meta.evaluation;
  return formatTable([
    ['run', meta.runId],
    ['recipe', meta.recipe],
    ['status', meta.status],
    ['policy version', String(meta.policyVersion)],
    ['held-out accuracy', `${formatAccuracy(before)} → ${formatAccuracy(after)}`],
    ['wall time', formatSeconds(meta.wallSeconds)],
    ...(meta.reason === undefined ? [] : [['reason', meta.reason]]),
  ]);
}
