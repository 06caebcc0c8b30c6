/** What the faults of a run cost, by the account of its journals. */
import { readFaults } from '../../activities/report/read-fault-account.ts';
import { summarizeJournals } from '../../store/journal-summary.ts';
import { readMeta, runFolder } from '../../store/run-folder.ts';
import type { FaultyStack } from './faulty-stack.ts';

export interface Costs {
  lostTrajectorySeconds: number;
  /** From each fault that cut off sampling to the first new token of what it cut off. */
  recoverySeconds: number[];
  /** The most tokens that one attempt at a turn lost; 0 where no turn was cut off. */
  mostTokensOfTurn: number;
  /** Turns that were sampled again though they had been recorded. */
  turnsSampledTwice: number;
}

export async function costsOf(stack: FaultyStack, run: string): Promise<Costs> {
  const folder = runFolder(stack.runsFolder, 'training', run);
  const meta = await readMeta(folder);
  const time = { start: meta!.startedAt, end: meta!.finishedAt };
  const { account, lines, deaths } = await readFaults(folder.root, time);
  const cutOff = account.events.flatMap(({ attempts }) => attempts).filter(isTurn);
  const sampled = summarizeJournals(lines, true, deaths).attempts.filter(
    (attempt) => isTurn(attempt) && attempt.outcome === 'completed' && (attempt.generated?.tokens ?? 0) > 0,
  );
  return {
    lostTrajectorySeconds: account.lostTrajectorySeconds,
    recoverySeconds: account.recoverySeconds,
    mostTokensOfTurn: Math.max(0, ...cutOff.map(({ generated }) => generated?.unsavedTokens ?? 0)),
    turnsSampledTwice: sampled.length - new Set(sampled.map(({ task }) => task)).size,
  };
}

function isTurn({ activity }: { activity: string }): boolean {
  return activity === 'agentTurn';
}
