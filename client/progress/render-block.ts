/** The block of live progress on a terminal. Pure: a function of the progress, so that it can be read in a test. */
import { formatAccuracy, formatNumber, formatSeconds } from '../../activities/report/format.ts';
import type { RunState } from '../../core/contracts.ts';
import type { PhaseState } from '../../workflows/steering.ts';
import type { Colors } from '../terminal/output.ts';
import { secondsLeft, type Progress } from './progress.ts';
import { progressBar, sparkline } from './sparkline.ts';

const nameWidth = 12;
const curveWidth = 28;

const statusNames: Record<RunState['status'], string> = {
  opening: 'opening the run',
  'warm-start': 'warm start',
  training: 'training',
  evaluating: 'evaluating on held-out tasks',
  paused: 'paused',
  stopping: 'stopping after this iteration',
  completed: 'completed',
  stopped: 'stopped',
  failed: 'failed',
};

export interface BlockOptions {
  run: string;
  colors: Colors;
  /** Web UI page of the run; null when unknown. */
  link: string | null;
}

export function renderBlock(progress: Progress, options: BlockOptions): string {
  const { state, phase, iterations, waiting } = progress;
  const { bold, cyan, dim, yellow } = options.colors;
  const line = (name: string, text: string): string => `  ${dim(name.padEnd(nameWidth))}${text}`;
  const lines = [bold(options.run) + (state ? dim(`  ${state.recipe}`) : '')];
  if (state) {
    lines.push(line('phase', cyan(describePhase(state, phase))));
    if (state.iterations > 0) lines.push(line('iteration', describeIterations(state, secondsLeft(progress))));
    if (state.warmStartLoss !== null)
      lines.push(line('warm start', `loss ${formatNumber(state.warmStartLoss)}`));
    const rewards = iterations.flatMap(({ reward }) => reward ?? []);
    if (rewards.length > 0) lines.push(line('reward', describeRewards(rewards)));
    const { before, latest, latestVersion } = state.evaluation;
    if (before !== null) {
      const now = state.iteration === 0 ? '' : ` → ${bold(formatAccuracy(latest))}`;
      lines.push(
        line('held-out', `${formatAccuracy(before)}${now} ${dim(`policy version ${latestVersion}`)}`),
      );
    }
    const speed = describeSpeed(state);
    if (speed !== '') lines.push(line('speed', speed));
    if (state.refusedUpdates > 0) lines.push(line('refused', `${state.refusedUpdates} updates, not finite`));
    if (state.rollbackTo !== null) lines.push(line('goes back', `to policy version ${state.rollbackTo}`));
    if (state.reason !== null) lines.push(line('reason', yellow(state.reason)));
    if (state.stuck !== null) {
      const { what, why, since, hint } = state.stuck;
      lines.push(line('stuck', yellow(`${what}: ${why}`) + dim(`  since ${since.slice(11, 19)} UTC`)));
      lines.push(line('', hint));
    }
  }
  if (options.link !== null) lines.push(line('Web UI', dim(options.link)));
  if (waiting !== null) lines.push(line('waiting', yellow(waiting)));
  return lines.join('\n');
}

function describePhase(state: RunState, phase: PhaseState | null): string {
  const name = statusNames[state.status];
  if (phase === null) return name;
  return `${name}: ${phase.phase}${phase.total > 1 ? ` ${phase.done}/${phase.total}` : ''}`;
}

function describeIterations(state: RunState, left: number | null): string {
  const time = left === null || left === 0 ? '' : `  about ${formatSeconds(left)} left`;
  return `${progressBar(state.iteration / state.iterations, curveWidth)} ${state.iteration}/${state.iterations}${time}`;
}

function describeRewards(rewards: number[]): string {
  return `${sparkline(rewards, curveWidth)} ${formatNumber(rewards.at(-1)!)}`;
}

function describeSpeed({ generatedTokensPerSecond, trainedTokensPerSecond }: RunState): string {
  const parts: string[] = [];
  if (generatedTokensPerSecond !== null)
    parts.push(`rollout ${formatNumber(Math.round(generatedTokensPerSecond))} tokens/s`);
  if (trainedTokensPerSecond !== null)
    parts.push(`training ${formatNumber(Math.round(trainedTokensPerSecond))} tokens/s`);
  return parts.join(', ');
}
