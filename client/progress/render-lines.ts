/** Progress for logs and pipes: one line for each thing that happened, nothing when nothing did. */
import { formatAccuracy, formatNumber, formatSeconds } from '../../activities/report/format.ts';
import type { RunState } from '../../core/contracts.ts';
import { stuckLine } from '../../core/stuck.ts';
import { secondsLeft, type Progress } from './progress.ts';

/** The lines that tell the step from one progress to the next. */
export function renderChanges(before: Progress, after: Progress): string[] {
  const lines: string[] = [];
  if (after.waiting !== null && before.waiting === null) lines.push(`waiting: ${after.waiting}`);
  if (after.waiting === null && before.waiting !== null) lines.push('connected again');
  const { state } = after;
  if (state === null) return lines;
  const last = before.state;
  const stage = stageOf(state);
  if (last === null || stage !== stageOf(last)) lines.push(`phase: ${stage}`);
  if (state.warmStartLoss !== null && state.warmStartLoss !== last?.warmStartLoss) {
    lines.push(`warm start: loss ${formatNumber(state.warmStartLoss)}`);
  }
  if (state.iteration !== (last?.iteration ?? 0)) lines.push(iterationLine(after));
  const { stuck } = state;
  if (stuck !== null && stuck.why !== last?.stuck?.why) lines.push(`stuck: ${stuckLine(stuck)}`);
  if (stuck === null && last?.stuck) lines.push('goes on again');
  const { latest, latestVersion } = state.evaluation;
  if (latestVersion !== null && latestVersion !== (last?.evaluation.latestVersion ?? null)) {
    lines.push(`held-out accuracy of policy version ${latestVersion}: ${formatAccuracy(latest)}`);
  }
  return lines;
}

/** Evaluations between iterations have a line of their own, so they are no change of phase. */
function stageOf({ status }: RunState): string {
  return status === 'evaluating' ? 'training' : status;
}

function iterationLine(progress: Progress): string {
  const { iteration, iterations, rewardMean, generatedTokensPerSecond, secondsPerIteration } =
    progress.state!;
  const parts = [`iteration ${iteration}/${iterations}`];
  if (rewardMean !== null) parts.push(`reward ${formatNumber(rewardMean)}`);
  if (secondsPerIteration !== null) parts.push(formatSeconds(secondsPerIteration));
  if (generatedTokensPerSecond !== null)
    parts.push(`rollout ${formatNumber(Math.round(generatedTokensPerSecond))} tokens/s`);
  const left = secondsLeft(progress);
  if (left !== null && left > 0) parts.push(`about ${formatSeconds(left)} left`);
  return parts.join(', ');
}
