/** What a run has committed and evaluated so far. */
import { RekindleError } from '../core/errors.ts';
import { evaluationSchema, type Evaluation, type LogEntry } from '../core/records.ts';
import type { Store } from './store.ts';

/** Entries `first`..head of the commit log. Throws StoreError when one is missing. */
export async function committedEntries(store: Store, run: string, first = 0): Promise<LogEntry[]> {
  const head = await store.head(run);
  const entries: LogEntry[] = [];
  for (let version = first; head !== undefined && version <= head.version; version++) {
    const entry = version === head.version ? head : await store.entry(run, version);
    if (entry === undefined) {
      throw new RekindleError('StoreError', `the log of run ${run} has no entry for version ${version}`, {
        hint: `Restore it from a copy of the store at ${store.location}.`,
        permanent: true,
      });
    }
    entries.push(entry);
  }
  return entries;
}

const evaluationKey = /^evaluation\/version-(\d+)\/summary$/;

/** Versions whose evaluation is recorded, ascending, with their business keys. */
export async function evaluatedVersions(
  store: Store,
  run: string,
): Promise<{ version: number; key: string }[]> {
  const keys = await store.listResults(run, 'evaluation/version-');
  return keys
    .flatMap((key) => {
      const match = evaluationKey.exec(key);
      return match === null ? [] : [{ version: Number(match[1]), key }];
    })
    .sort((a, b) => a.version - b.version);
}

/** Evaluations made so far, oldest policy first. */
export async function recordedEvaluations(store: Store, run: string): Promise<Evaluation[]> {
  const evaluations: Evaluation[] = [];
  for (const { key } of await evaluatedVersions(store, run)) {
    const recorded = await store.findResult(run, key);
    if (recorded !== undefined) evaluations.push(evaluationSchema.parse(recorded.value));
  }
  return evaluations;
}
