/** The dry run: what a recipe will do and need, by arithmetic alone. */
import { shardsOf, tasksOfShard } from './sharding.ts';
import { mostTurns } from './environments.ts';
import { taskQueues } from './ids.ts';
import { modelShapeSchema, parameterCount } from './model-shape.ts';
import { estimateDisk, estimateMemory, estimateTime } from './plan-estimates.ts';
import type { MissingPiece, Plan, PlanFacts } from './plan-schema.ts';
import { longestPrompt } from './recipe-checks.ts';
import type { Recipe } from './recipe.ts';

export type { Plan, PlanFacts };

/** The plan of a sound recipe. Bounds are bounds; estimates state their assumptions. */
export function planRun(recipe: Recipe, facts: PlanFacts): Plan {
  const { rollout, training, evaluation, warmStart } = recipe;
  const episodes = rollout.tasksPerIteration * rollout.groupSize;
  const { iterations } = training;
  const stepsOfIteration = training.epochs * Math.ceil(episodes / training.minibatchRows);
  const optimizerSteps = { min: fewestSteps(recipe, stepsOfIteration), max: stepsOfIteration };
  const evaluations = evaluation === undefined ? 0 : 1 + Math.ceil(iterations / evaluation.every);
  const iteration: Plan['iteration'] = {
    tasks: rollout.tasksPerIteration,
    groupSize: rollout.groupSize,
    episodes,
    shards: shardsOf(rollout.tasksPerIteration, tasksOfShard(recipe, rollout.tasksPerIteration)).length,
    promptTokens: longestPrompt(recipe),
    generatedTokens: episodes * mostTurns(recipe.environment) * rollout.maxNewTokens,
    rows: episodes,
    minibatches: Math.ceil(episodes / training.minibatchRows),
    optimizerSteps,
  };
  const run: Plan['run'] = {
    warmStartSteps: warmStart?.maxSteps ?? 0,
    iterations,
    episodes: iterations * episodes,
    generatedTokens: iterations * iteration.generatedTokens,
    optimizerSteps: { min: iterations * optimizerSteps.min, max: iterations * optimizerSteps.max },
    policyVersions: 1 + iterations + (warmStart ? Math.ceil(warmStart.maxSteps / warmStart.commitEvery) : 0),
    evaluations,
    evaluationEpisodes: evaluations * (evaluation?.tasks ?? 0),
    epochs: facts.dataSize === null ? null : (iterations * rollout.tasksPerIteration) / facts.dataSize,
  };
  const missing = [...facts.missing, ...shortPositions(recipe, facts)];
  return {
    recipe: recipe.name,
    ready: missing.length === 0,
    missing: missing.map(({ message }) => message),
    cause: missing[0]?.cause ?? null,
    notes: [...facts.notes, ...shortMemory(recipe, facts)],
    model: facts.model && { parameters: parameterCount(facts.model), ...modelShapeSchema.parse(facts.model) },
    iteration,
    run,
    queues: queuesOf(recipe),
    memory: facts.model && { ...estimateMemory(recipe, facts.model), available: facts.memoryBytes },
    disk: facts.model && estimateDisk(recipe, facts.model, { iteration, run }),
    time: facts.model && estimateTime(recipe, facts.model, { ...facts, iteration, run }),
  };
}

/** An iteration steps for sure only where rows can't be left out for want of signal. */
function fewestSteps({ algorithm }: Recipe, all: number): number {
  return algorithm.dropZeroVarianceGroups ? 0 : all;
}

function shortPositions(recipe: Recipe, { model }: PlanFacts): MissingPiece[] {
  const longest = (longestPrompt(recipe) ?? 1) + recipe.rollout.maxNewTokens;
  if (model === null || longest <= model.maxPositions) return [];
  const message =
    `positions: prompt and response can have ${longest} tokens, the model takes ${model.maxPositions}; ` +
    'lower rollout.maxNewTokens';
  return [{ cause: 'ModelError', message }];
}

function shortMemory(recipe: Recipe, { model, memoryBytes }: PlanFacts): string[] {
  const needed = model === null ? 0 : estimateMemory(recipe, model).total;
  if (needed <= memoryBytes) return [];
  return [
    `memory: the engine needs about ${gibibytes(needed)}, this machine has ${gibibytes(memoryBytes)}; ` +
      'set training.checkpointing or adapter, or lower engine.slots',
  ];
}

function gibibytes(amount: number): string {
  return `${(amount / 2 ** 30).toFixed(1)} GiB`;
}

function queuesOf({ rollout, warmStart }: Recipe): Plan['queues'] {
  const training = warmStart === undefined ? 'updates of the policy' : 'warm start, updates of the policy';
  const queues: Plan['queues'] = [
    { queue: taskQueues.control, work: 'workflows' },
    { queue: taskQueues.cpu, work: 'batches, rewards and advantages, commits, metrics, report' },
    { queue: taskQueues.rollout, work: 'generation, weight sync' },
    { queue: taskQueues.train, work: training },
  ];
  if (rollout.durability === 'turn') queues.push({ queue: taskQueues.env, work: 'environment steps' });
  return queues;
}
