/**
 * Where a run's time went: the attempts in its journals, those that a crash cut off included, and the provenance of its
 * recorded results, which tells of work that is spread over many activities. What remains is the time between phases: the hops
 * through the server, and waiting for what had died.
 */
import type { Attempt } from '../../store/journal-summary.ts';
import { secondsCovered, unionOf } from '../../store/intervals.ts';
import type { Store } from '../../store/store.ts';

export const phases = [
  'warm start',
  'prepare',
  'rollout',
  'reward',
  'update',
  'commit',
  'sync',
  'publish',
  'evaluation',
] as const;
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
  { pattern: /^iteration-(\d+)\/rollout-\d+(?:\/segment-\d+)?$/, phase: 'rollout' },
  { pattern: /^iteration-(\d+)\/rewards-\d+$/, phase: 'reward' },
  { pattern: /^iteration-(\d+)\/candidate-\d+$/, phase: 'update' },
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

const phaseOfActivity: Record<string, Phase | undefined> = {
  warmStartActor: 'warm start',
  prepareBatch: 'prepare',
  rolloutShard: 'rollout',
  agentTurn: 'rollout',
  environmentStep: 'rollout',
  openEnvironment: 'rollout',
  collectEpisodes: 'rollout',
  shapeRewards: 'reward',
  updateActor: 'update',
  commitVersion: 'commit',
  syncWeights: 'sync',
  publishMetrics: 'publish',
  summarizeEvaluation: 'evaluation',
};
/** Steps whose journal lines do not tell their iteration: they belong to the one that was prepared last. */
const closingPhases: readonly Phase[] = ['commit', 'sync', 'publish'];

/** One span for each attempt that has ended. A rollout outside the loop's iterations is an evaluation's. */
export function spansOfAttempts(attempts: readonly Attempt[]): PhaseSpan[] {
  let prepared = 0;
  return attempts
    .toSorted((a, b) => a.start - b.start)
    .flatMap(({ activity, iteration, start, end }): PhaseSpan[] => {
      const phase = phaseOfActivity[activity];
      if (activity === 'prepareBatch') prepared = iteration ?? prepared;
      if (phase === undefined || end === null) return [];
      if (closingPhases.includes(phase)) return [{ phase, iteration: prepared, start, end }];
      if (activity === 'rolloutShard' && !iteration)
        return [{ phase: 'evaluation', iteration: 0, start, end }];
      return [{ phase, iteration: iteration ?? 0, start, end }];
    });
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

export interface IterationTimeline {
  iteration: number;
  /** When it began, in milliseconds since the epoch. */
  origin: number;
  /** In seconds since then. */
  bars: { phase: Phase; start: number; end: number }[];
}

/** Each iteration's phases, each phase as one bar where it was worked on without a break. */
export function iterationTimelines(spans: PhaseSpan[]): IterationTimeline[] {
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
      return { iteration, origin, bars };
    });
}
