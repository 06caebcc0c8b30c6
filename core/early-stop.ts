/**
 * Rules that end a run early. A rule sees one value of its metric after another and remembers four numbers of them, so that
 * what it says is a function of the commit log alone: the same after a new history, and after the loss of Temporal.
 */
import type { Metrics } from './records.ts';
import type { StopRule } from './recipe.ts';

/** What one rule has seen. */
export interface RuleMemory {
  /** The newest value of the metric. */
  last: number | null;
  /** The best value, where a plateau is looked for. */
  best: number | null;
  /** Values in a row for which the condition held, or which were no improvement. */
  inARow: number;
}

/** What a run has used up. */
export interface Spent {
  seconds: number;
  generatedTokens: number;
}

export const nothingSeen: RuleMemory = { last: null, best: null, inARow: 0 };

/** The metric that a rule looks at; undefined for a budget. */
export function metricOf(rule: StopRule): string | undefined {
  return rule.metric ?? rule.plateau?.metric;
}

/** A rule's memory after more metrics; unchanged when its own is not among them. */
export function observe(rule: StopRule, memory: RuleMemory, metrics: Metrics): RuleMemory {
  const metric = metricOf(rule);
  const value = metric === undefined ? undefined : metrics[metric];
  if (value === undefined) return memory;
  if (rule.plateau === undefined) {
    return { last: value, best: null, inARow: isBeyond(rule, value) ? memory.inARow + 1 : 0 };
  }
  const { best } = memory;
  const { goal, minDelta } = rule.plateau;
  const gain = best === null ? Infinity : goal === 'higher' ? value - best : best - value;
  return gain > minDelta
    ? { last: value, best: value, inARow: 0 }
    : { last: value, best, inARow: memory.inARow + 1 };
}

function isBeyond({ above = Infinity, below = -Infinity }: StopRule, value: number): boolean {
  return value > above || value < below;
}

/** Why the run is to stop: the first rule that is met, its metric and value; undefined when none is. */
export function stopReason(
  rules: readonly StopRule[],
  memories: readonly RuleMemory[],
  spent: Spent,
): string | undefined {
  for (const [i, rule] of rules.entries()) {
    const reason = reasonOf(rule, memories[i] ?? nothingSeen, spent);
    if (reason !== undefined) return `stopping.${i}: ${reason}`;
  }
  return undefined;
}

function reasonOf(rule: StopRule, memory: RuleMemory, spent: Spent): string | undefined {
  const { plateau, wallSeconds, generatedTokens } = rule;
  if (wallSeconds !== undefined) {
    const { seconds } = spent;
    return seconds >= wallSeconds
      ? `the run has taken ${Math.round(seconds)} s of ${wallSeconds} s`
      : undefined;
  }
  if (generatedTokens !== undefined) {
    return spent.generatedTokens >= generatedTokens
      ? `${spent.generatedTokens} of ${generatedTokens} tokens have been generated`
      : undefined;
  }
  const { inARow, last, best } = memory;
  if (plateau !== undefined) {
    if (inARow < plateau.iterations) return undefined;
    const { metric, minDelta, goal } = plateau;
    return (
      `${metric} is ${shown(last)}, and no value of the last ${inARow} was more than ${minDelta} ` +
      `${goal} than ${shown(best)}`
    );
  }
  if (inARow < (rule.for ?? 1)) return undefined;
  const bound =
    rule.above !== undefined && last! > rule.above ? `above ${rule.above}` : `below ${rule.below}`;
  return `${rule.metric} is ${shown(last)}, ${bound}${inARow > 1 ? ` for the ${inARow}th time in a row` : ''}`;
}

function shown(value: number | null): string {
  return value === null ? 'unknown' : String(Number(value.toPrecision(4)));
}
