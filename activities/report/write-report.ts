/**
 * Writes a run's `report.html` from its store, its journals and the journal of the supervisor. The file is replaced as a whole: a reader never sees half of
 * one, and writing it again gives the same page.
 */
import { rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { keys } from '../../core/ids.ts';
import type { Meta } from '../../core/records.ts';
import { recipeSchema, type Recipe } from '../../core/recipe.ts';
import { summarizeJournals } from '../../store/journal-summary.ts';
import { committedEntries, recordedEvaluations } from '../../store/run-history.ts';
import type { Store } from '../../store/store.ts';
import { makeCharts } from './charts.ts';
import { renderPage } from './page.ts';
import { readPhaseSpans, spansOfAttempts } from './phases.ts';
import { readFaults } from './read-fault-account.ts';
import { readSamples } from './samples.ts';
import type { ShowToken } from './samples-section.ts';

export interface ReportOptions {
  store: Store;
  run: string;
  /** The run folder `<home>/runs/<kind>/<run>`, where the report goes. */
  folder: string;
  meta: Meta;
  /** How a token id reads. */
  showToken: ShowToken;
}

const openingSchema = z.looseObject({ recipe: recipeSchema });

async function readRecipe(store: Store, run: string): Promise<Recipe | null> {
  const opening = await store.findResult(run, keys.opening());
  return opening ? openingSchema.parse(opening.value).recipe : null;
}

/** Writes the report and returns its path. Throws StoreError and CorruptArtifactError as the store does. */
export async function writeReport({ store, run, folder, meta, showToken }: ReportOptions): Promise<string> {
  const entries = await committedEntries(store, run);
  const { lines, deaths, account } = await readFaults(folder, {
    start: meta.startedAt,
    end: meta.finishedAt,
  });
  const { attempts } = summarizeJournals(lines, false, deaths);
  const page = await renderPage(
    {
      meta,
      recipe: await readRecipe(store, run),
      entries,
      charts: makeCharts(entries, await recordedEvaluations(store, run)),
      samples: await readSamples(store, entries),
      spans: [...(await readPhaseSpans(store, run)), ...spansOfAttempts(attempts)],
      account,
    },
    showToken,
  );
  const target = path.join(folder, 'report.html');
  const temporary = path.join(folder, `.report-${process.pid}.html`);
  await writeFile(temporary, page);
  await rename(temporary, target);
  return target;
}
