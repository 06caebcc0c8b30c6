/** Folds what the log of a run holds beyond what is known of it. */
import { emptySummary, withEntry, withEvaluation, type LogSummary } from '../../core/log-summary.ts';
import type { Recipe } from '../../core/recipe.ts';
import type { Evaluation } from '../../core/records.ts';
import { committedEntries } from '../../store/run-history.ts';
import type { Store } from '../../store/store.ts';

/** Throws StoreError when an entry is missing. */
export async function summarizeLog(
  store: Store,
  run: string,
  recipe: Recipe,
  evaluations: readonly Evaluation[],
  known: LogSummary | null,
): Promise<LogSummary> {
  const begin = known ?? emptySummary(recipe);
  const entries = await committedEntries(store, run, begin.version + 1);
  const evaluated = new Map(evaluations.map((evaluation) => [evaluation.version, evaluation]));
  const summary = withFound(begin, evaluated.get(begin.version));
  return entries.reduce(
    (folded, entry) => withFound(withEntry(folded, entry, recipe), evaluated.get(entry.version)),
    summary,
  );

  function withFound(folded: LogSummary, evaluation: Evaluation | undefined): LogSummary {
    return evaluation === undefined ? folded : withEvaluation(folded, evaluation, recipe);
  }
}
