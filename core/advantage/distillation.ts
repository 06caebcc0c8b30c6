import { RekindleError } from '../errors.ts';
import { grpo } from './grpo.ts';
import type { AdvantageEstimator, ScoredTrajectory } from './estimator.ts';

export interface DistillationSettings {
  /** Factor of the teacher's term. */
  coefficient: number;
  /** Whether GRPO's advantage of the task's reward is added (hybrid). */
  taskReward: boolean;
  /** Of GRPO's advantage. */
  epsilon: number;
}

/** Differences of log-probs beyond this are cut. */
const largestDifference = 20;

/**
 * On-policy distillation (Lu et al., "On-Policy Distillation", Thinking Machines Lab, 2025; Agarwal et al., arXiv 2306.13649): the
 * advantage of a token is how much likelier the teacher finds it than the policy that sampled it,
 *
 *   A_n = -coefficient * clamp(log policy - log teacher, -20, 20) [+ GRPO's advantage]
 *
 * whose expectation is the negative reverse KL divergence.
 */
export const distillation: AdvantageEstimator<DistillationSettings> = (groups, settings) => {
  const task = settings.taskReward ? grpo(groups, settings) : null;
  return groups.map((group, g) =>
    group.map((member, i) => {
      const ofTask = task === null ? 0 : (task[g]![i] as number);
      return differencesOf(member).map((difference) => ofTask - settings.coefficient * difference);
    }),
  );
};

function differencesOf({ tokens, logprobsN, teacherLogprobsN }: ScoredTrajectory): Float64Array {
  if (logprobsN?.length !== tokens || teacherLogprobsN?.length !== tokens) {
    throw new RekindleError(
      'DataError',
      `distillation: a trajectory of ${tokens} trained tokens has ${teacherLogprobsN?.length ?? 'no'} log-probs of the teacher, expected one for each token`,
    );
  }
  return Float64Array.from({ length: tokens }, (_, n) =>
    Math.min(Math.max(logprobsN[n]! - teacherLogprobsN[n]!, -largestDifference), largestDifference),
  );
}
