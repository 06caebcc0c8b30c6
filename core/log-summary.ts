/**
 * What a run remembers of its commit log: a fold over its entries and evaluations, small enough for a workflow to carry. The
 * workflow folds what it sees; opening a run folds what the log holds beyond that, from the beginning if nothing was carried.
 */
import { nothingSeen, observe, type RuleMemory } from './early-stop.ts';
import { isInReinforcement } from './policy.ts';
import type { Evaluation, LogEntry, Metrics } from './records.ts';
import type { Recipe, StopRule } from './recipe.ts';
import type { Ref } from './refs.ts';

export interface LogSummary {
  /** The newest version that it knows of; -1 before the first. */
  version: number;
  /** The newest version whose evaluation it knows of; -1 before the first. */
  evaluated: number;
  /** The last policy before reinforcement, to which a KL term refers and behind which no rollback goes. */
  reference: { version: number; weights: Ref } | null;
  refusedUpdates: number;
  generatedTokens: number;
  /** Time of all updates and iterations. */
  seconds: number;
  /** One for each rule of `recipe.stopping`. */
  rules: RuleMemory[];
}

type Rules = Pick<Recipe, 'stopping'>;

export function emptySummary({ stopping }: Rules): LogSummary {
  return {
    version: -1,
    evaluated: -1,
    reference: null,
    refusedUpdates: 0,
    generatedTokens: 0,
    seconds: 0,
    rules: stopping.map(() => nothingSeen),
  };
}

/** The summary with one more entry; unchanged by an entry that it knows of. After a rollback the rules count anew. */
export function withEntry(summary: LogSummary, entry: LogEntry, { stopping }: Rules): LogSummary {
  if (entry.version <= summary.version) return summary;
  const { version, weights, metrics } = entry;
  const seconds = metrics['time/iteration_seconds'] ?? metrics['time/update_seconds'] ?? 0;
  return {
    ...summary,
    version,
    reference: isInReinforcement(entry) ? summary.reference : { version, weights },
    refusedUpdates: summary.refusedUpdates + (entry.update === 'refused' ? 1 : 0),
    generatedTokens: summary.generatedTokens + (metrics['tokens/generated'] ?? 0),
    seconds: summary.seconds + Math.max(0, seconds),
    rules: rulesAfter(summary.rules, entry, stopping),
  };
}

/** The summary with one more evaluation; unchanged by one that it knows of. */
export function withEvaluation(summary: LogSummary, evaluation: Evaluation, { stopping }: Rules): LogSummary {
  const { version, accuracy } = evaluation;
  if (version <= summary.evaluated) return summary;
  const rules = allObserve(summary.rules, stopping, { 'evaluation/accuracy': accuracy });
  return { ...summary, evaluated: version, rules };
}

function rulesAfter(memories: RuleMemory[], entry: LogEntry, rules: StopRule[]): RuleMemory[] {
  if (entry.kind === 'rollback') return rules.map(() => nothingSeen);
  return entry.kind === 'reinforcement' ? allObserve(memories, rules, entry.metrics) : memories;
}

function allObserve(memories: RuleMemory[], rules: StopRule[], metrics: Metrics): RuleMemory[] {
  return rules.map((rule, i) => observe(rule, memories[i] ?? nothingSeen, metrics));
}
