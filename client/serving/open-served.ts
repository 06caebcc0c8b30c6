/** What to serve: a version of a run in a home, or a Hugging Face model folder. */
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { openedRun } from '../../activities/run/opening.ts';
import { weightsSource } from '../../activities/weights/weights-source.ts';
import { RekindleError } from '../../core/errors.ts';
import type { WeightsSource } from '../../gpu/engine-port.ts';
import type { DecoderConfig } from '../../gpu/model/decoder-config.ts';
import type { ModelFiles } from '../../gpu/model/model-files.ts';
import { openModelFolder } from '../../gpu/model/model-folder.ts';
import type { Store } from '../../store/store.ts';
import { policyVersion, requireLog } from '../local-runs.ts';

export interface Served {
  name: string;
  path: string;
  config: DecoderConfig;
  files: ModelFiles;
  weights: { source: WeightsSource; version: string };
  /** Of a run: where its versions come from. */
  run: { id: string; store: Store } | null;
}

/**
 * @param target a folder, `<run>` for the newest version, or `<run>@<version>`
 * @throws RekindleError RunNotFoundError, UsageError or ModelError
 */
export async function openServed(home: string, target: string): Promise<Served> {
  const found = await stat(target).catch(() => undefined);
  if (found?.isDirectory()) return openFolder(path.resolve(target));
  if (target.includes(path.sep)) throw new RekindleError('UsageError', `${target}: no such model folder`);
  return openRun(home, target);
}

async function openRun(home: string, target: string): Promise<Served> {
  const [id = '', version, ...rest] = target.split('@');
  if (rest.length > 0 || (version !== undefined && !/^\d+$/.test(version))) {
    throw new RekindleError('UsageError', `${target}: expected a model folder, <run>, or <run>@<version>`);
  }
  const store = await requireLog(home, id);
  const entry = await policyVersion(store, id, version === undefined ? undefined : Number(version));
  const opened = await openedRun(store, id);
  const source = await weightsSource(store, opened, entry.weights);
  return {
    name: id,
    path: `${id}@${entry.version}`,
    config: opened.config,
    files: opened.modelFileBytes,
    weights: { source, version: String(entry.version) },
    run: { id, store },
  };
}

async function openFolder(folder: string): Promise<Served> {
  const { config, files, weightsPath } = await openModelFolder(folder);
  return {
    name: path.basename(folder),
    path: folder,
    config,
    files,
    weights: { source: { tag: weightsPath, path: weightsPath }, version: 'default' },
    run: null,
  };
}
