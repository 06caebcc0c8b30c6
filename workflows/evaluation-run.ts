/** Evaluates one policy version, greedily, on the fixed held-out tasks. Scores are memoised by (run, version). */
import { setCurrentDetails } from '@temporalio/workflow';
import type { Batch } from '../core/contracts.ts';
import type { Recipe } from '../core/recipe.ts';
import type { Evaluation } from '../core/records.ts';
import type { Ref } from '../core/refs.ts';
import { cpu, rollout } from './activities.ts';
import { shardsOf } from '../core/sharding.ts';
import { evaluateShards } from './roll-out.ts';

export interface EvaluationRunInput {
  run: string;
  recipe: Recipe;
  batch: Batch;
  version: number;
  weights: Ref;
}

export async function evaluationRun({
  run,
  recipe,
  batch,
  version,
  weights,
}: EvaluationRunInput): Promise<Evaluation> {
  const { heartbeatSeconds } = recipe.schedule;
  const shards = await evaluateShards(
    shardsOf(batch.tasks, recipe.rollout.tasksPerShard ?? batch.tasks),
    (shard) =>
      rollout(heartbeatSeconds).rolloutShard({
        run,
        iteration: 0,
        purpose: 'evaluation',
        ...shard,
        segment: 0,
        batch: batch.batch,
        version,
        weights,
        hyperparameters: {},
      }),
  );
  const evaluation = await cpu(heartbeatSeconds).summarizeEvaluation({ run, version, shards });
  setCurrentDetails(
    `Policy version ${version}: accuracy **${evaluation.accuracy.toFixed(3)}** on ${evaluation.tasks} held-out tasks`,
  );
  return evaluation;
}
