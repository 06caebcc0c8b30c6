/**
 * Where a run's time went, from the provenance of its recorded results. Work that left no result (a killed attempt, the
 * hops between activities) is not in any phase: it shows as the time between phases.
 */
import { secondsCovered, unionOf } from '../../store/intervals.ts';
import type { Store } from '../../store/store.ts';

export const phases = ['warm start', 'prepare', 'rollout', 'reward', 'update', 'evaluation'] as const;
export type Phase = (typeof phases)[number];

/** Work on one phase of one iteration; times in milliseconds since the epoch. Iteration 0 is outside the loop. */
export interface PhaseSpan {
  phase: Phase;
  iteration: number;
  start: number;
  end: number;
}

const keyPatterns: { pattern: RegExp; phase: Phase }[] = [
  { pattern: /^iteration-(\d+)\/batch$/, phase: 'prepare' },
  { pattern: /^iteration-(\d+)\/rollout-\d+$/, phase: 'rollout' },
  { pattern: /^iteration-(\d+)\/rewards$/, phase: 'reward' },
  { pattern: /^iteration-(\d+)\/candidate$/, phase: 'update' },
  { pattern: /^warm-start-(?:\d+)\/candidate$/, phase: 'warm start' },
  { pattern: /^evaluation\/version-(?:\d+)\/rollout-\d+$/, phase: 'evaluation' },
];

/** The phase and iteration that a business key belongs to; undefined for keys that are no phase's result. */
export function phaseOfKey(key: string): { phase: Phase; iteration: number } | undefined {
  for (const { pattern, phase } of keyPatterns) {
    const match = pattern.exec(key);
    if (match) return { phase, iteration: Number(match[1] ?? 0) };
  }
  return undefined;
}

/** One span for each recorded result of a phase, by start. Shards of one rollout are separate, overlapping spans. */
export async function readPhaseSpans(store: Store, run: string): Promise<PhaseSpan[]> {
  const spans: PhaseSpan[] = [];
  for (const key of await store.listResults(run, '')) {
    const place = phaseOfKey(key);
    if (!place) continue;
    const recorded = await store.findResult(run, key);
    if (!recorded) continue;
    const { startedAt, finishedAt } = recorded.provenance;
    spans.push({ ...place, start: Date.parse(startedAt), end: Date.parse(finishedAt) });
  }
  return spans.sort((a, b) => a.start - b.start);
}

/** Seconds of wall time in which each phase was worked on; parallel shards count once. */
export function secondsByPhase(spans: PhaseSpan[]): { phase: Phase; seconds: number }[] {
  return phases
    .map((phase) => ({ phase, seconds: secondsCovered(spans.filter((span) => span.phase === phase)) }))
    .filter(({ seconds }) => seconds > 0);
}

/** Seconds between the first and the last span in which no phase was worked on. */
export function secondsBetweenPhases(spans: PhaseSpan[]): number {
  const worked = unionOf(spans);
  if (worked.length === 0) return 0;
  return (worked.at(-1)!.end - worked[0]!.start) / 1000 - secondsCovered(worked);
}

/** Each iteration's phases in seconds since that iteration began, each phase as one bar. */
export function iterationTimelines(
  spans: PhaseSpan[],
): { iteration: number; bars: { phase: Phase; start: number; end: number }[] }[] {
  const numbers = new Set(spans.map(({ iteration }) => iteration).filter((iteration) => iteration > 0));
  return [...numbers]
    .sort((a, b) => a - b)
    .map((iteration) => {
      const own = spans.filter((span) => span.iteration === iteration);
      const origin = Math.min(...own.map(({ start }) => start));
      const bars = phases.flatMap((phase) =>
        unionOf(own.filter((span) => span.phase === phase)).map(({ start, end }) => ({
          phase,
          start: (start - origin) / 1000,
          end: (end - origin) / 1000,
        })),
      );
      return { iteration, bars };
    });
}
