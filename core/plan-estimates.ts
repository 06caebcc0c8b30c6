/** Estimates of memory, disk and time for a plan: closed formulas over the model's shape, with named constants. */
import { activationBytes } from './activation-memory.ts';
import { mostTurns } from './environments.ts';
import { adapterParameters, multipliedParameters, parameterCount, type ModelShape } from './model-shape.ts';
import type { Plan, PlanFacts } from './plan-schema.ts';
import { longestPrompt } from './recipe-checks.ts';
import type { Recipe } from './recipe.ts';
import { schedulingOf } from './scheduling.ts';

const floatBytes = 4;
/** A typical prompt where only the tokenizer knows. */
const assumedPromptTokens = 128;
/** JSON of one token in a trajectory and its row (ids, log-probs, mask), and of one episode around it. */
const bytesPerToken = 50;
const bytesPerEpisode = 500;
/** Measured for a 1.35 M-parameter model on a 2-core AVX-512 server: 52 to 68 GFLOP/s a core in all phases. */
const defaultFlopsPerCore = 60e9;
/** Measured with the quickstart: 1,250 of 2,048 groups at first, 200 in the end. */
const signalShare = 0.4;
const warmStartShare = 0.5;
const orchestrationSeconds = 0.3;

type Memory = Omit<NonNullable<Plan['memory']>, 'available'>;

/** The rollout and the training engine are processes of their own, each with its weights. */
export function estimateMemory(recipe: Recipe, model: ModelShape): Memory {
  const weights = parameterCount(model) * floatBytes;
  const trained = trainedParameters(recipe, model) * floatBytes;
  const longest = rowTokens(recipe);
  const cached = 2 * model.layers * model.kvHeads * model.headSize;
  const withAdapter = recipe.adapter !== undefined;
  const memory = {
    weights: withAdapter ? weights + trained : weights,
    gradients: trained,
    moments: 2 * trained,
    // The current policy and those before that may still roll out, merged where they are adapters, with their base; and a copy
    // packed for the processor.
    rolloutWeights: ((withAdapter ? 4 : 3) + schedulingOf(recipe).lookahead) * weights,
    referenceWeights: recipe.algorithm.kl === undefined ? 0 : weights,
    keyValueCache: recipe.engine.slots * longest * cached * floatBytes,
    activations: activationBytes(model, longest, recipe.training.checkpointing),
  };
  return { ...memory, total: Object.values(memory).reduce((sum, part) => sum + part, 0) };
}

/** Those of an adapter, or all: which tensors a pattern freezes takes the model's files to know. */
export function trainedParameters({ adapter }: Recipe, model: ModelShape): number {
  return adapter === undefined ? parameterCount(model) : adapterParameters(model, adapter);
}

export function estimateDisk(
  recipe: Recipe,
  model: ModelShape,
  { iteration, run }: Pick<Plan, 'iteration' | 'run'>,
): NonNullable<Plan['disk']> {
  const initial = parameterCount(model) * floatBytes;
  const perVersion = 3 * trainedParameters(recipe, model) * floatBytes;
  const prompts = iteration.episodes * (iteration.promptTokens ?? assumedPromptTokens);
  const perIteration =
    (prompts + iteration.generatedTokens) * bytesPerToken + iteration.episodes * bytesPerEpisode;
  const total = initial + (run.policyVersions - 1) * perVersion + run.iterations * perIteration;
  return { perVersion, perIteration, total };
}

/**
 * A forward pass takes 2 operations for each parameter and token; a backward pass 2 for the gradient of what went in and, where
 * the parameter is trained, 2 for its own (Kaplan et al., "Scaling laws", 2020, section 2.1). Checkpointing repeats the forward pass.
 */
export function estimateTime(
  recipe: Recipe,
  model: ModelShape,
  facts: Pick<PlanFacts, 'cores' | 'flopsPerCore'> & Pick<Plan, 'iteration' | 'run'>,
): NonNullable<Plan['time']> {
  const flopsPerCore = facts.flopsPerCore ?? defaultFlopsPerCore;
  const threads = Math.min(facts.cores, recipe.engine.threads);
  const secondsPerForward = (2 * multipliedParameters(model)) / (flopsPerCore * threads);
  const passes = 2 + (recipe.adapter === undefined ? 1 : 0) + (recipe.training.checkpointing ? 1 : 0);
  const { iteration, run } = facts;
  const prompt = iteration.promptTokens ?? assumedPromptTokens;
  const tokensOfRow = rowTokens(recipe);
  const trainedTokens = run.episodes * tokensOfRow;
  const scored = recipe.algorithm.kl === undefined ? 0 : 1;
  const newTokens = recipe.evaluation?.maxNewTokens ?? recipe.rollout.maxNewTokens;
  const warmStartRows = run.warmStartSteps * (recipe.warmStart?.batchRows ?? 0);
  const atMost = {
    warmStart: passes * warmStartRows * tokensOfRow * secondsPerForward,
    rollout: (run.iterations * iteration.tasks * prompt + run.generatedTokens) * secondsPerForward,
    training: (passes * recipe.training.epochs + scored) * trainedTokens * secondsPerForward,
    evaluation: run.evaluationEpisodes * (prompt + newTokens) * secondsPerForward,
    orchestration: run.iterations * orchestrationSeconds,
  };
  const dropping = recipe.algorithm.dropZeroVarianceGroups ? signalShare : 1;
  const likely = {
    ...atMost,
    warmStart: atMost.warmStart * warmStartShare,
    training: atMost.training * dropping,
  };
  return {
    likely: { ...likely, total: sum(likely) },
    atMost: { ...atMost, total: sum(atMost) },
    assumptions: [
      `${flopsPerCore / 1e9} GFLOP/s a core on ${threads} cores`,
      ...(iteration.promptTokens === null ? [`prompts of ${assumedPromptTokens} tokens`] : []),
      ...(recipe.algorithm.dropZeroVarianceGroups
        ? [`likely: ${signalShare * 100} % of the groups carry signal`]
        : []),
      ...(recipe.warmStart
        ? [`likely: the warm start ends after ${warmStartShare * 100} % of its steps`]
        : []),
      `${orchestrationSeconds} s of orchestration an iteration`,
      ...overlapAssumption(recipe, likely),
    ],
  };
}

/** What may be saved by rolling out ahead; the estimate has rollout and training share the cores, where nothing is. */
function overlapAssumption(
  recipe: Recipe,
  { rollout, training }: { rollout: number; training: number },
): string[] {
  const { mode } = recipe.schedule;
  if (schedulingOf(recipe).lookahead === 0) return [];
  const saved = Math.min(rollout, training).toFixed(0);
  return [
    `schedule.mode ${mode}: rollout and training share the cores; on hosts of their own they overlap and save up to ${saved} s`,
  ];
}

function rowTokens(recipe: Recipe): number {
  const { environment, rollout, training } = recipe;
  const responses = mostTurns(environment) * rollout.maxNewTokens;
  const whole = (longestPrompt(recipe) ?? assumedPromptTokens) + responses;
  return Math.min(whole, training.microbatchTokens);
}

function sum(parts: Record<string, number>): number {
  return Object.values(parts).reduce((total, part) => total + part, 0);
}
