/** Accuracy of a policy version: the share of held-out tasks whose response earns the recipe's first reward in full. */
import { summarizeEvaluationInputSchema } from '../../core/contracts.ts';
import { keys } from '../../core/ids.ts';
import { evaluationSchema } from '../../core/records.ts';
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
      const decisive = recipe.rewards[0]!.kind;
      return memoise(store, run, keys.evaluation(version), evaluationSchema, provenance(), async () => {
        const refs = shards.flatMap((shard) => shard.trajectories);
        const trajectories = await readTrajectories(store, refs);
        const solved = trajectories.filter((trajectory) => trajectory.rewards[decisive] === 1).length;
        const tokens = shards.reduce((sum, shard) => sum + shard.generatedTokens, 0);
        return {
          version,
          tasks: trajectories.length,
          accuracy: solved / trajectories.length,
          meanLength: tokens / trajectories.length,
          trajectories: refs,
        };
      });
    },
  );
}
