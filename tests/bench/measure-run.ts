/**
 * Measures a real run from beginning to end: where its wall time went, by the journals that its workers wrote, and how much
 * memory each process took.
 */
import { processPools } from '../../client/stack.ts';
import { secondsCovered, type Interval } from '../../store/intervals.ts';
import { summarizeJournals } from '../../store/journal-summary.ts';
import { readJournals } from '../../store/read-journal.ts';
import { committedEntries } from '../../store/run-history.ts';
import { readMeta, runFolder } from '../../store/run-folder.ts';
import { startStack } from '../harness/stack.ts';
import type { BenchResult } from './bench-result.ts';
import { watchMemory } from './peak-memory.ts';

export async function measureRun(recipe: string): Promise<BenchResult> {
  const stack = await startStack(processPools);
  try {
    const memory = watchMemory(stack.processes);
    await (await stack.rekindle.train(recipe, { run: 'bench' })).result();
    const peak = memory();

    const folder = runFolder(stack.runsFolder, 'training', 'bench');
    const meta = await readMeta(folder);
    if (meta === undefined) throw new Error(`no ${folder.meta}`);
    const { engineCalls, attempts } = summarizeJournals((await readJournals(folder.logs)).lines, true);
    const entries = await committedEntries(stack.store, 'bench');
    const engineBusy = secondsCovered(engineCalls);
    const sum = (metric: string) => entries.reduce((total, entry) => total + (entry.metrics[metric] ?? 0), 0);

    const phases = new Map<string, Interval[]>();
    for (const { activity, start, end } of attempts) {
      if (end !== null) phases.set(activity, [...(phases.get(activity) ?? []), { start, end }]);
    }
    const seconds = (op: string) => secondsCovered(engineCalls.filter((call) => call.op === op));
    return {
      figures: {
        wallSeconds: meta.wallSeconds,
        overheadSeconds: meta.wallSeconds - engineBusy,
        overheadShare: 1 - engineBusy / meta.wallSeconds,
        accuracyBefore: meta.evaluation.before ?? NaN,
        accuracyAfter: meta.evaluation.after ?? NaN,
        rolloutTokensPerSecond: sum('tokens/generated') / seconds('generate'),
        trainTokensPerSecond:
          sum('tokens/trained') / (seconds('forward-backward') + seconds('optimizer-step')),
        peakMemoryMB: peak.together,
        ...Object.fromEntries(
          [...phases].map(([activity, spans]) => [`seconds.${activity}`, secondsCovered(spans)]),
        ),
        ...Object.fromEntries(
          [...new Set(engineCalls.map(({ op }) => op))].map((op) => [`engineSeconds.${op}`, seconds(op)]),
        ),
        ...Object.fromEntries(
          Object.entries(peak.byProcess).map(([name, megabytes]) => [`memoryMB.${name}`, megabytes]),
        ),
      },
      notes: breakdown(attempts, engineCalls),
    };
  } finally {
    await stack.stop();
  }
}

/** For each activity: its time beyond the engine's, and last the time in no activity: Temporal and the workflows. */
function breakdown(
  attempts: { activity: string; start: number; end: number | null }[],
  engineCalls: Interval[],
): string[] {
  const engine = secondsCovered(engineCalls);
  const spans = attempts.flatMap(({ activity, start, end }) =>
    end === null ? [] : [{ activity, start, end }],
  );
  const lines = [...new Set(spans.map(({ activity }) => activity))].map((activity) => {
    const own = spans.filter((span) => span.activity === activity);
    const alone = secondsCovered([...own, ...engineCalls]) - engine;
    return `${activity}: ${own.length} attempts, ${alone.toFixed(2)} s beyond the engine's`;
  });
  const first = Math.min(...spans.map(({ start }) => start));
  const last = Math.max(...spans.map(({ end }) => end));
  const between = (last - first) / 1000 - secondsCovered([...spans, ...engineCalls]);
  return [...lines, `between activities (Temporal, workflows): ${between.toFixed(2)} s`];
}
