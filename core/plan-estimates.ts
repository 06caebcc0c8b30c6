/** Estimates of memory, disk and time for a plan: closed formulas over the model's shape, with named constants. */
import { multipliedParameters, parameterCount, type ModelShape } from './model-shape.ts';
import type { Plan, PlanFacts } from './plan-schema.ts';
import { longestPrompt } from './recipe-checks.ts';
import type { Recipe } from './recipe.ts';

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

export function estimateMemory(recipe: Recipe, model: ModelShape): Memory {
  const weights = parameterCount(model) * floatBytes;
  const longest = rowTokens(recipe);
  const cached = 2 * model.layers * model.kvHeads * model.headSize;
  // Kept for the backward pass: about ten vectors of hidden size and four of feed-forward size a layer, the attention
  // weights before and after the softmax, and three copies of the logits.
  const layer = 10 * model.hiddenSize + 4 * model.feedForwardSize + 2 * model.heads * longest;
  const memory = {
    weights,
    gradients: weights,
    moments: 2 * weights,
    rolloutWeights: weights,
    referenceWeights: recipe.algorithm.kl === undefined ? 0 : weights,
    keyValueCache: recipe.engine.slots * longest * cached * floatBytes,
    activations: recipe.training.microbatchTokens * (model.layers * layer + 3 * model.vocabSize) * floatBytes,
  };
  return { ...memory, total: Object.values(memory).reduce((sum, part) => sum + part, 0) };
}

export function estimateDisk(
  model: ModelShape,
  iteration: Plan['iteration'],
  run: Plan['run'],
): NonNullable<Plan['disk']> {
  const perVersion = 3 * parameterCount(model) * floatBytes;
  const prompts = iteration.episodes * (iteration.promptTokens ?? assumedPromptTokens);
  const perIteration =
    (prompts + iteration.generatedTokens) * bytesPerToken + iteration.episodes * bytesPerEpisode;
  return { perVersion, perIteration, total: run.policyVersions * perVersion + run.iterations * perIteration };
}

/** Forward 2, forward and backward 6 operations for each parameter and token (Kaplan et al., "Scaling laws", 2020, section 2.1). */
export function estimateTime(
  recipe: Recipe,
  model: ModelShape,
  facts: Pick<PlanFacts, 'cores' | 'flopsPerCore'> & Pick<Plan, 'iteration' | 'run'>,
): NonNullable<Plan['time']> {
  const flopsPerCore = facts.flopsPerCore ?? defaultFlopsPerCore;
  const threads = Math.min(facts.cores, recipe.engine.threads);
  const secondsPerForward = (2 * multipliedParameters(model)) / (flopsPerCore * threads);
  const { iteration, run } = facts;
  const prompt = iteration.promptTokens ?? assumedPromptTokens;
  const tokensOfRow = rowTokens(recipe);
  const trainedTokens = run.episodes * tokensOfRow;
  const scored = recipe.algorithm.kl === undefined ? 0 : 1;
  const newTokens = recipe.evaluation?.maxNewTokens ?? recipe.rollout.maxNewTokens;
  const warmStartRows = run.warmStartSteps * (recipe.warmStart?.batchRows ?? 0);
  const atMost = {
    warmStart: 3 * warmStartRows * tokensOfRow * secondsPerForward,
    rollout: (run.iterations * iteration.tasks * prompt + run.generatedTokens) * secondsPerForward,
    training: (3 * recipe.training.epochs + scored) * trainedTokens * secondsPerForward,
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
    ],
  };
}

function rowTokens(recipe: Recipe): number {
  return (longestPrompt(recipe) ?? assumedPromptTokens) + recipe.rollout.maxNewTokens;
}

function sum(parts: Record<string, number>): number {
  return Object.values(parts).reduce((total, part) => total + part, 0);
}
