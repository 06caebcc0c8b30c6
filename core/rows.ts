/**
 * Trajectory to training row. The row holds exactly the token ids that the policy saw and sampled, in order; trained is 1 on
 * sampled tokens only, and there stands the log-prob under the policy that sampled. Nothing is re-tokenised.
 */
import { RekindleError } from './errors.ts';
import type { Outcome, Row, Trajectory } from './records.ts';

/** Outcomes that the policy answers for: scored and trained. The others enter no mean and no advantage. */
export function isLearnable(outcome: Outcome): boolean {
  return outcome !== 'infra-failed' && outcome !== 'dropped';
}

/**
 * The training row of a trajectory; null if its outcome is not learnable or no token was sampled.
 * Throws DataError if log-probs don't match the sampled tokens, or the sequence starts with a sampled token (there is no
 * context to predict it from).
 */
export function rowOf(trajectory: Trajectory, advantage: Row['advantage']): Row | null {
  if (!isLearnable(trajectory.outcome)) return null;
  const ids: number[] = [];
  const trained: (0 | 1)[] = [];
  const logprobs: number[] = [];
  let sampled = 0;
  trajectory.turns.forEach((turn, turnIndex) => {
    for (const id of turn.observationIds) {
      ids.push(id);
      trained.push(0);
      logprobs.push(0);
    }
    const { responseIds } = turn;
    if (responseIds.length === 0) return;
    if (ids.length === 0) throw broken(trajectory, turnIndex, 'has no token before its first sampled token');
    if (turn.logprobs.length !== responseIds.length) {
      const counts = `${turn.logprobs.length} log-probs for ${responseIds.length} sampled tokens`;
      throw broken(trajectory, turnIndex, `has ${counts}, expected one each`);
    }
    for (let t = 0; t < responseIds.length; t++) {
      const logprob = turn.logprobs[t]!;
      if (!Number.isFinite(logprob)) {
        throw broken(
          trajectory,
          turnIndex,
          `has log-prob ${logprob} at sampled token ${t}, expected a finite number`,
        );
      }
      ids.push(responseIds[t]!);
      trained.push(1);
      logprobs.push(logprob);
    }
    sampled += responseIds.length;
  });
  if (sampled === 0) return null;
  return { group: trajectory.group, sample: trajectory.sample, ids, trained, logprobs, advantage };
}

function broken(trajectory: Trajectory, turn: number, what: string): RekindleError {
  const { group, sample, taskId } = trajectory;
  return new RekindleError(
    'DataError',
    `trajectory of group ${group}, sample ${sample} (task ${taskId}): turn ${turn} ${what}`,
    { hint: 'The rollout that wrote this trajectory is at fault: check the engine or harness that made it.' },
  );
}
