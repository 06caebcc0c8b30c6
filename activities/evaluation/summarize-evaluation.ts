/**
 * Accuracy of a policy version: the share of held-out tasks whose episode earns the recipe's first reward in full. Episodes
 * that were lost to a fault of the infrastructure count neither way.
 */
import { summarizeEvaluationInputSchema } from '../../core/contracts.ts';
import { RekindleError } from '../../core/errors.ts';
import { keys } from '../../core/ids.ts';
import { rewardName } from '../../core/rewards/index.ts';
import { evaluationSchema } from '../../core/records.ts';
import { isLearnable } from '../../core/rows.ts';
import { memoise } from '../../store/memo.ts';
import { defineActivity } from '../define-activity.ts';
import { provenance } from '../execution.ts';
import { readTrajectories } from '../rollout/trajectories.ts';
import { openedRun } from '../run/opening.ts';
import type { CpuActivities } from '../interface.ts';
import type { Services } from '../services.ts';

export function summarizeEvaluation({ store }: Services): CpuActivities['summarizeEvaluation'] {
  return defineActivity(
    'summarizeEvaluation',
    summarizeEvaluationInputSchema,
    evaluationSchema,
    async ({ run, version, shards }) => {
      const { recipe } = await openedRun(store, run);
      const decisive = rewardName(recipe.rewards[0]!);
      return memoise(store, run, keys.evaluation(version), evaluationSchema, provenance(), async () => {
        const refs = shards.flatMap((shard) => shard.trajectories);
        const trajectories = await readTrajectories(store, refs);
        const judged = trajectories.filter(({ outcome }) => isLearnable(outcome));
        if (judged.length === 0) {
          throw new RekindleError(
            'EnvironmentError',
            `all ${trajectories.length} episodes of the evaluation of version ${version} were lost: ${trajectories[0]?.reason}`,
            { permanent: true },
          );
        }
        const solved = judged.filter((trajectory) => trajectory.rewards[decisive] === 1).length;
        const tokens = shards.reduce((sum, shard) => sum + shard.generatedTokens, 0);
        return {
          version,
          tasks: judged.length,
          accuracy: solved / judged.length,
          meanLength: tokens / trajectories.length,
          trajectories: refs,
        };
      });
    },
  );
}
