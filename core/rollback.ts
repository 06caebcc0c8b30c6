/**
 * Going back to an earlier policy. The log stays append-only: a rollback is an entry of its own, on top of the head, that
 * holds the earlier version's policy. The policy goes back, the data goes on: iterations and the cursor are the head's.
 */
import { isInReinforcement, policyOf } from './policy.ts';
import type { LogEntry } from './records.ts';
import type { Hyperparameters } from './recipe.ts';

/** The entry on top of `head` that restores the policy of `target`. */
export function rollbackEntry(head: LogEntry, target: LogEntry, hyperparameters: Hyperparameters): LogEntry {
  const { weights, optimizer, optimizerStep } = policyOf(target, 'reinforcement');
  return {
    run: head.run,
    version: head.version + 1,
    parent: head.weights.hash,
    kind: 'rollback',
    iteration: head.iteration,
    update: 'applied',
    weights,
    optimizer,
    optimizerStep,
    batch: null,
    trajectories: [],
    rows: null,
    outcomes: {},
    hyperparameters,
    metrics: {},
    phaseFinished: false,
    restores: target.version,
  };
}

/**
 * Why a run cannot go back to a version; undefined when it can. `first` is the policy that reinforcement began with: the versions
 * before it belong to the warm start, which is not taken up again.
 */
export function rollbackProblem(
  version: unknown,
  head: Pick<LogEntry, 'version' | 'kind'>,
  first: number,
): string | undefined {
  if (!isInReinforcement(head))
    return 'there is nothing to go back from: no iteration has been committed yet';
  const allowed =
    first === head.version - 1 ? `version ${first}` : `a version from ${first} to ${head.version - 1}`;
  if (typeof version !== 'number' || !Number.isInteger(version) || version < 0 || version > head.version)
    return `version ${JSON.stringify(version)}: expected ${allowed}`;
  if (version === head.version) return `version ${version} is the newest already: expected ${allowed}`;
  if (version < first)
    return `version ${version} lies in the warm start, which is not repeated: expected ${allowed}`;
  return undefined;
}
