/**
 * What becomes of a trajectory's reward before advantages are estimated from it, in this order: the penalty for an overlong response
 * is added, then the sum is clipped. Metrics and reports show rewards as they were given.
 */
import type { AlgorithmSettings } from './algorithm.ts';
import type { Metrics, Trajectory } from './records.ts';

export interface ConditioningSettings extends Pick<AlgorithmSettings, 'overlong' | 'rewardClip'> {
  /** The longest response in tokens. */
  maxNewTokens: number;
}

/**
 * The soft penalty of DAPO (arXiv 2503.14476, equation 13): 0 up to `buffer` tokens before the longest response, from there on falling
 * linearly to -`factor` at the longest. Of several responses the longest counts.
 */
export function overlongPenalty(
  { turns }: Pick<Trajectory, 'turns'>,
  settings: ConditioningSettings,
): number {
  if (settings.overlong === undefined) return 0;
  const { buffer, factor } = settings.overlong;
  const longest = turns.reduce((most, { responseIds }) => Math.max(most, responseIds.length), 0);
  const beyond = longest - (settings.maxNewTokens - buffer);
  return beyond <= 0 ? 0 : -Math.min(1, beyond / buffer) * factor;
}

export function conditionedReward(trajectory: Trajectory, settings: ConditioningSettings): number {
  const reward = trajectory.reward + overlongPenalty(trajectory, settings);
  const { rewardClip = Infinity } = settings;
  return Math.min(Math.max(reward, -rewardClip), rewardClip);
}

/** `reward/overlong_penalty` and `reward/clipped_share`, means over trajectories; each where the recipe asks for what it measures. */
export function conditioningMetrics(
  trajectories: readonly Trajectory[],
  settings: ConditioningSettings,
): Metrics {
  const mean = (value: (trajectory: Trajectory) => number): number =>
    trajectories.reduce((sum, trajectory) => sum + value(trajectory), 0) / trajectories.length;
  if (trajectories.length === 0) return {};
  const { overlong, rewardClip } = settings;
  return {
    ...(overlong && {
      'reward/overlong_penalty': mean((trajectory) => overlongPenalty(trajectory, settings)),
    }),
    ...(rewardClip !== undefined && {
      'reward/clipped_share': mean((trajectory) =>
        Number(Math.abs(trajectory.reward + overlongPenalty(trajectory, settings)) > rewardClip),
      ),
    }),
  };
}
