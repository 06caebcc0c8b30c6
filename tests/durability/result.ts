/** The figures of `npm run test:durability`, and the bars that they must reach. */
import type { Costs } from './costs.ts';
import { passed, type Outcome } from './outcome.ts';
import type { PartName } from './parts.ts';

export interface PartResult {
  part: PartName;
  outcomes: Outcome[];
  /** One for each run; none where faults are not deaths. */
  costs: Costs[];
  seconds: number;
}

export interface DurabilityResult {
  /** Faults that were to be made, and those that were seen to happen. */
  kills: number;
  witnesses: number;
  skipped: number;
  duplicated: number;
  doubleSteps: number;
  weightsEqual: boolean;
  lostTrajectorySeconds: number;
  recoverySeconds: Spread;
  /** With the default heartbeat time-out; null when that was not measured. */
  defaultRecoverySeconds: Spread | null;
  turnsSampledTwice: number;
  parts: Record<string, { faults: number; witnesses: number; passed: number; seconds: number }>;
  misses: string[];
}

interface Spread {
  median: number | null;
  max: number | null;
}

const longestDefaultRecovery = 15;

/** `longestTurn`: tokens of one turn at most. */
export function resultOf(results: readonly PartResult[], longestTurn: number): DurabilityResult {
  const outcomes = results.flatMap((result) => result.outcomes);
  const costs = results.flatMap((result) => result.costs);
  const runs = [...new Map(outcomes.map((outcome) => [outcome.run, outcome.verification])).values()];
  const sum = (numbers: number[]): number => numbers.reduce((total, number) => total + number, 0);
  const recoveries = (from: readonly PartResult[]): number[] =>
    from.flatMap((result) => result.costs.flatMap(({ recoverySeconds }) => recoverySeconds));
  const atDefault = results.filter(({ part }) => part === 'recovery');
  const result = {
    kills: outcomes.length,
    witnesses: outcomes.filter(({ witness }) => witness !== null).length,
    skipped: sum(runs.map(({ tasks }) => tasks.skipped)),
    duplicated: sum(runs.map(({ tasks }) => tasks.duplicated)),
    doubleSteps: sum(runs.map(({ doubleSteps }) => doubleSteps)),
    weightsEqual: outcomes.every(({ weightsEqual }) => weightsEqual),
    lostTrajectorySeconds: sum(costs.map(({ lostTrajectorySeconds }) => lostTrajectorySeconds)),
    recoverySeconds: spreadOf(recoveries(results)),
    defaultRecoverySeconds: atDefault.length === 0 ? null : spreadOf(recoveries(atDefault)),
    turnsSampledTwice: sum(costs.map(({ turnsSampledTwice }) => turnsSampledTwice)),
  };
  const mostTokensOfTurn = Math.max(0, ...costs.map((cost) => cost.mostTokensOfTurn));
  const misses = outcomes.filter((outcome) => !passed(outcome)).map(missOf);
  if (result.turnsSampledTwice > 0)
    misses.push(`${result.turnsSampledTwice} recorded turns were sampled again`);
  if (mostTokensOfTurn > longestTurn) misses.push(`a kill cost ${mostTokensOfTurn} tokens of one trajectory`);
  const { max } = result.defaultRecoverySeconds ?? { max: 0 };
  if (max === null) misses.push('no fault cut off sampling, so that recovery was not measured');
  else if (max > longestDefaultRecovery) misses.push(`recovery took ${max} s with default settings`);
  return {
    ...result,
    parts: Object.fromEntries(
      results.map(({ part, outcomes: ofPart, seconds }) => [
        part,
        {
          faults: ofPart.length,
          witnesses: ofPart.filter(({ witness }) => witness !== null).length,
          passed: ofPart.filter(passed).length,
          seconds: Math.round(seconds),
        },
      ]),
    ),
    misses,
  };
}

function missOf({ fault, run, witness, weightsEqual, verification }: Outcome): string {
  const reasons = [
    ...(witness === null ? ['the fault was not made'] : []),
    ...(weightsEqual ? [] : ['the weights differ']),
    ...verification.problems,
  ];
  return `${fault} (run ${run}): ${reasons.join('; ')}`;
}

function spreadOf(seconds: number[]): Spread {
  const sorted = seconds.toSorted((a, b) => a - b);
  return { median: sorted[Math.floor((sorted.length - 1) / 2)] ?? null, max: sorted.at(-1) ?? null };
}
