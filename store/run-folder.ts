/**
 * What a run leaves for people: `<runs>/<training|evaluation|testing>/<run id>/`, with `<runs>/latest` pointing at the run
 * opened last. Everything in it is derived from the store and the journals, and can be written again at any time.
 */
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { RekindleError } from '../core/errors.ts';
import { runIdPattern } from '../core/ids.ts';
import { metaSchema, type Meta } from '../core/records.ts';
import { replaceFile, replaceLink } from './atomic-file.ts';

export const runKinds = ['training', 'evaluation', 'testing'] as const;
export type RunKind = (typeof runKinds)[number];

/** The paths of a run folder. */
export interface RunFolder {
  root: string;
  config: string;
  logs: string;
  trajectories: string;
  metrics: string;
  /** Holds `metaSchema`. */
  meta: string;
  report: string;
}

/** Where the store of a runs folder is unless it is set. */
export function defaultStoreFolder(runsFolder: string): string {
  return join(runsFolder, '.store');
}

/** The paths of a run, whether or not they exist. Throws UsageError for a run id that is not one. */
export function runFolder(runsFolder: string, kind: RunKind, run: string): RunFolder {
  if (!runIdPattern.test(run)) {
    throw new RekindleError('UsageError', `bad run id ${JSON.stringify(run)}: expected ${runIdPattern}`);
  }
  const root = join(runsFolder, kind, run);
  return {
    root,
    config: join(root, 'config'),
    logs: join(root, 'logs'),
    trajectories: join(root, 'trajectories'),
    metrics: join(root, 'metrics'),
    meta: join(root, 'meta.json'),
    report: join(root, 'report.html'),
  };
}

/** Makes the folders of a run; a run without `meta.json` is new and becomes `latest`. Repeating it changes nothing. */
export async function createRunFolder(runsFolder: string, kind: RunKind, run: string): Promise<RunFolder> {
  const folder = runFolder(runsFolder, kind, run);
  for (const path of [folder.config, folder.logs, folder.trajectories, folder.metrics]) {
    await mkdir(path, { recursive: true }).catch((error: unknown) => {
      throw new RekindleError('StoreError', `cannot make the folder ${path}: ${String(error)}`, {
        hint: 'Let this user write to the runs folder, or choose another one.',
        cause: error,
      });
    });
  }
  if ((await readMeta(folder)) === undefined) await replaceLink(join(runsFolder, 'latest'), join(kind, run));
  return folder;
}

/** The folder of a run of any kind that has a `meta.json`. */
export async function findRunFolder(runsFolder: string, run: string): Promise<RunFolder | undefined> {
  for (const kind of runKinds) {
    const folder = runFolder(runsFolder, kind, run);
    if ((await readMeta(folder)) !== undefined) return folder;
  }
  return undefined;
}

export async function writeMeta(folder: RunFolder, meta: Meta): Promise<void> {
  await replaceFile(folder.meta, asJson(metaSchema.parse(meta)));
}

/** Undefined when the run has none yet. Throws StoreError naming the file when it is not what `writeMeta` writes. */
export async function readMeta(folder: RunFolder): Promise<Meta | undefined> {
  const text = await readFile(folder.meta, 'utf8').catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw new RekindleError('StoreError', `cannot read ${folder.meta}: ${String(error)}`, { cause: error });
  });
  if (text === undefined) return undefined;
  try {
    return metaSchema.parse(JSON.parse(text));
  } catch (error) {
    const problem = error instanceof z.ZodError ? z.prettifyError(error) : String(error);
    throw new RekindleError('StoreError', `${folder.meta}: broken record: ${problem}`, {
      hint: 'Delete the file; it is written again when the run is.',
      permanent: true,
      cause: error,
    });
  }
}

/** Keeps for the reader what the run was asked for, what it was resolved to, and what it ran on. */
export async function writeConfig(
  folder: RunFolder,
  config: { given: unknown; resolved: unknown; surroundings: unknown },
): Promise<void> {
  await replaceFile(join(folder.config, 'given.json'), asJson(config.given));
  await replaceFile(join(folder.config, 'resolved.json'), asJson(config.resolved));
  await replaceFile(join(folder.config, 'surroundings.json'), asJson(config.surroundings));
}

function asJson(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
