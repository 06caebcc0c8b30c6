/**
 * Writes a run's `report.html` from its store and journal. The file is replaced as a whole: a reader never sees half of
 * one, and writing it again gives the same page.
 */
import { rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { openRunResultSchema } from '../../core/contracts.ts';
import { keys } from '../../core/ids.ts';
import { evaluationSchema, type Evaluation, type LogEntry, type Meta } from '../../core/records.ts';
import { recipeSchema, type Recipe } from '../../core/recipe.ts';
import type { Store } from '../../store/store.ts';
import { makeCharts } from './charts.ts';
import { faultsInLog } from './faults.ts';
import { renderPage } from './page.ts';
import { readPhaseSpans } from './phases.ts';
import { readSamples } from './samples.ts';
import type { ShowToken } from './samples-section.ts';

export interface ReportOptions {
  store: Store;
  run: string;
  /** The run folder, where the report goes. */
  folder: string;
  meta: Meta;
  /** How a token id reads. */
  showToken: ShowToken;
}

async function readEntries(store: Store, run: string): Promise<LogEntry[]> {
  const head = await store.head(run);
  const entries: LogEntry[] = [];
  for (let version = 0; head && version <= head.version; version++) {
    const entry = await store.entry(run, version);
    if (entry) entries.push(entry);
  }
  return entries;
}

async function readEvaluations(store: Store, run: string): Promise<Evaluation[]> {
  const found = await store.listResults(run, 'evaluation/version-');
  const summaries = found.filter((key) => key.endsWith('/summary'));
  const recorded = await Promise.all(summaries.map((key) => store.findResult(run, key)));
  return recorded.flatMap((result) => (result ? [evaluationSchema.parse(result.value)] : []));
}

async function readRecipe(store: Store, run: string): Promise<Recipe | null> {
  const opening = await store.findResult(run, keys.opening());
  const parsed = openRunResultSchema.pick({ recipe: true }).loose().safeParse(opening?.value);
  return parsed.success ? recipeSchema.parse(parsed.data.recipe) : null;
}

/** Writes the report and returns its path. Throws StoreError and CorruptArtifactError as the store does. */
export async function writeReport({ store, run, folder, meta, showToken }: ReportOptions): Promise<string> {
  const entries = await readEntries(store, run);
  const page = await renderPage(
    {
      meta,
      recipe: await readRecipe(store, run),
      entries,
      charts: makeCharts(entries, await readEvaluations(store, run)),
      samples: await readSamples(store, entries),
      spans: await readPhaseSpans(store, run),
      faults: faultsInLog(entries),
    },
    showToken,
  );
  const target = path.join(folder, 'report.html');
  const temporary = path.join(folder, `.report-${process.pid}.html`);
  await writeFile(temporary, page);
  await rename(temporary, target);
  return target;
}
