/**
 * What a schema of single fields can't say: numbers that must fit together, keys that need or exclude each other, keys that
 * would have no effect. Each problem names the fields and their values.
 */
import type { AdvantageSettings } from './algorithm.ts';
import { additionLengths, heldOutCount } from './data/addition.ts';
import { leastTokensOfAllTurns, mostTurns } from './environments.ts';
import { headSizeStep } from './model-shape.ts';
import { namePatternProblem } from './name-patterns.ts';
import { patternProblem } from './rewards/format.ts';
import { rewardName } from './rewards/index.ts';
import { checkStopRules } from './stop-rule-checks.ts';
import { checkScheduling } from './scheduling-checks.ts';
import type { DataSource, Recipe } from './recipe.ts';

export interface RecipeProblem {
  path: string;
  message: string;
}

/** The longest prompt of a source in tokens, where it is known without a tokenizer. */
export function longestPrompt(recipe: Recipe): number | null {
  const { train, evaluation = train } = recipe.data;
  if (train.source !== 'addition' || evaluation.source !== 'addition') return null;
  if (recipe.prompt.template !== 'raw') return null;
  return additionLengths(Math.max(train.digits, evaluation.digits)).prompt;
}

/** All cross-field problems of a recipe; empty when it is sound. */
export function checkRecipe(recipe: Recipe): RecipeProblem[] {
  const problems: RecipeProblem[] = [];
  const report = (path: string, message: string): void => void problems.push({ path, message });
  checkModel(recipe, report);
  checkData(recipe, report);
  checkRewards(recipe, report);
  checkEnvironment(recipe, report);
  checkBatches(recipe, report);
  checkLengths(recipe, report);
  checkWarmStart(recipe, report);
  checkTrained(recipe, report);
  checkSchedules(recipe, report);
  checkStopRules(recipe, report);
  checkInertKeys(recipe, report);
  checkScheduling(recipe, report);
  return problems;
}

type Report = (path: string, message: string) => void;

function checkModel({ model }: Recipe, report: Report): void {
  const { initialize, path, hub } = model;
  const given = Object.entries({ initialize, path, hub }).flatMap(([key, value]) =>
    value === undefined ? [] : [key],
  );
  if (given.length !== 1) {
    report(
      'model',
      `${given.length === 0 ? 'none of initialize, path and hub' : given.join(' and ')} given; ` +
        'expected exactly one (set the others to null to drop an inherited one)',
    );
  }
  if (initialize === undefined) return;
  const { heads, kvHeads, headSize } = initialize;
  if (heads % kvHeads !== 0) {
    report(
      'model.initialize.kvHeads',
      `heads (${heads}) is not a multiple of kvHeads (${kvHeads}); query heads share key-value heads evenly`,
    );
  }
  if (headSize % headSizeStep !== 0) {
    report(
      'model.initialize.headSize',
      `${headSize}: expected a multiple of ${headSizeStep}, which the embedded engine's attention needs`,
    );
  }
}

function checkData({ data, evaluation }: Recipe, report: Report): void {
  checkSource('data.train', data.train, report);
  if (data.evaluation !== undefined) checkSource('data.evaluation', data.evaluation, report);
  const held = data.evaluation ?? data.train;
  if (evaluation !== undefined && held.source === 'addition') {
    const available = heldOutCount(held.digits);
    if (available !== null && evaluation.tasks > available) {
      report(
        'evaluation.tasks',
        `${evaluation.tasks} tasks, but addition with ${held.digits} digits has ${available} held-out problems`,
      );
    }
  }
  if (
    data.train.source === 'gsm8k' &&
    data.evaluation?.source === 'gsm8k' &&
    data.train.path === data.evaluation.path &&
    data.train.hub === data.evaluation.hub
  ) {
    report(
      'data.evaluation',
      'the same file as data.train, so the policy would be evaluated on what it was trained on; ' +
        'leave it out to hold out a tenth of the rows',
    );
  }
}

function checkSource(at: string, source: DataSource, report: Report): void {
  if (source.source !== 'gsm8k' || (source.path === undefined) !== (source.hub === undefined)) return;
  const both = source.path !== undefined;
  report(at, `${both ? 'both path and hub' : 'neither path nor hub'} given; expected exactly one`);
}

function checkRewards({ rewards }: Recipe, report: Report): void {
  rewards.forEach((reward, i) => {
    const name = rewardName(reward);
    if (rewards.findIndex((other) => rewardName(other) === name) < i) {
      const key = reward.kind === 'environment' ? 'name' : 'kind';
      report(`rewards.${i}.${key}`, `"${name}" is given twice; rewards are recorded by ${key}`);
    }
    if (reward.weight === 0) report(`rewards.${i}.weight`, '0 gives this reward no effect; leave it out');
    if (reward.kind !== 'format') return;
    const problem = patternProblem(reward.pattern);
    if (problem !== undefined) report(`rewards.${i}.pattern`, problem);
  });
}

function checkEnvironment({ environment, rewards }: Recipe, report: Report): void {
  const given = rewards.findIndex(({ kind }) => kind === 'environment');
  if (environment.kind !== 'command' && given >= 0) {
    report(
      `rewards.${given}.kind`,
      `"environment" has no effect with environment.kind "${environment.kind}", which gives no rewards of its own; ` +
        'expected environment.kind "command"',
    );
  }
  if (environment.kind === 'command' && given < 0) {
    report(
      'environment.kind',
      '"command", but no reward of kind environment: what the program says of an episode would have no effect',
    );
  }
}

function checkBatches({ rollout, training, algorithm }: Recipe, report: Report): void {
  const { tasksPerIteration, groupSize, tasksPerShard } = rollout;
  if (tasksPerShard !== undefined && tasksPerIteration % tasksPerShard !== 0) {
    report(
      'rollout.tasksPerShard',
      `rollout.tasksPerIteration (${tasksPerIteration}) is not a multiple of rollout.tasksPerShard (${tasksPerShard})`,
    );
  }
  const rows = tasksPerIteration * groupSize;
  if (rows % training.minibatchRows !== 0) {
    report(
      'training.minibatchRows',
      `rollout.tasksPerIteration × rollout.groupSize = ${tasksPerIteration} × ${groupSize} = ${rows} is not a multiple of ` +
        `training.minibatchRows (${training.minibatchRows})`,
    );
  }
  if (groupSize < 2 && algorithm.advantage.kind !== 'reinforce') {
    report(
      'rollout.groupSize',
      `${groupSize} sample a task, but algorithm.advantage.kind "${algorithm.advantage.kind}" compares the samples of a group; ` +
        'expected at least 2',
    );
  }
}

function checkLengths(recipe: Recipe, report: Report): void {
  const { data, rollout, training, evaluation, model } = recipe;
  const prompt = longestPrompt(recipe);
  const limits = [{ at: 'rollout.maxNewTokens', value: rollout.maxNewTokens, source: data.train }];
  if (evaluation?.maxNewTokens !== undefined) {
    const source = data.evaluation ?? data.train;
    limits.push({ at: 'evaluation.maxNewTokens', value: evaluation.maxNewTokens, source });
  }
  for (const { at, value, source } of limits) {
    if (source.source === 'addition' && model.initialize !== undefined) {
      const needed = additionLengths(source.digits).response;
      if (value < needed) {
        report(
          at,
          `${value}, but the sum of ${source.digits}-digit numbers and its newline take up to ${needed} tokens`,
        );
      }
    }
    const positions = model.initialize?.maxPositions;
    const longest = (prompt ?? 1) + value;
    if (positions !== undefined && longest > positions) {
      report(
        at,
        `prompts of ${prompt ?? 'at least 1'} and ${value} new tokens make ${longest}, more than ` +
          `model.initialize.maxPositions (${positions})`,
      );
    }
  }
  checkTurns(recipe, report);
  const longestRow = (prompt ?? 1) + rollout.maxNewTokens;
  if (longestRow > training.microbatchTokens) {
    report(
      'training.microbatchTokens',
      `${training.microbatchTokens}, but a row of prompt and response can have ${longestRow} tokens`,
    );
  }
}

/** An episode whose last turn has no room however short the others are could never be whole. */
function checkTurns(recipe: Recipe, report: Report): void {
  const { environment, rollout, evaluation, model, training } = recipe;
  if (mostTurns(environment) === 1) return;
  const feedback = environment.kind === 'attempts' ? feedbackTokens(recipe, environment.feedback) : 0;
  const [at, turns] =
    environment.kind === 'attempts'
      ? ['environment.attempts', `${environment.attempts} attempts`]
      : ['environment.maxTurns', `${mostTurns(environment)} turns`];
  const least = (maxNewTokens: number): number =>
    leastTokensOfAllTurns(environment, { prompt: longestPrompt(recipe) ?? 1, feedback, maxNewTokens });
  const positions = model.initialize?.maxPositions;
  const longest = Math.max(rollout.maxNewTokens, evaluation?.maxNewTokens ?? 0);
  if (positions !== undefined && least(longest) > positions) {
    report(
      at,
      `${turns} take at least ${least(longest)} tokens with their prompt, more than ` +
        `model.initialize.maxPositions (${positions})`,
    );
  }
  if (least(rollout.maxNewTokens) > training.microbatchTokens) {
    report(
      at,
      `${turns} take at least ${least(rollout.maxNewTokens)} tokens with their prompt, more than ` +
        `training.microbatchTokens (${training.microbatchTokens}), in which a whole episode must fit`,
    );
  }
}

/** One token a character for the tokenizer of new models; at least one for others. */
function feedbackTokens({ model, prompt }: Recipe, feedback: string): number {
  return model.initialize !== undefined && prompt.template === 'raw' ? feedback.length : 1;
}

function checkWarmStart({ warmStart }: Recipe, report: Report): void {
  if (warmStart === undefined) return;
  const { window, maxSteps, commitEvery } = warmStart;
  if (window > maxSteps) {
    report(
      'warmStart.window',
      `${window} steps, more than warmStart.maxSteps (${maxSteps}): stopLoss would never be looked at`,
    );
  }
  if (commitEvery % window !== 0) {
    report(
      'warmStart.commitEvery',
      `${commitEvery} is not a multiple of warmStart.window (${window}); a window may not lie in two updates`,
    );
  }
}

function checkTrained({ adapter, training }: Recipe, report: Report): void {
  if (adapter !== undefined && training.frozen.length > 0) {
    report('training.frozen', 'has no effect with an adapter, which leaves every tensor of the model frozen');
  }
  if (Array.isArray(adapter?.targets)) {
    const { targets } = adapter;
    targets.forEach((target, i) => {
      if (targets.indexOf(target) < i) report(`adapter.targets.${i}`, `"${target}" is given twice`);
    });
  }
  training.frozen.forEach((pattern, i) => {
    const problem = namePatternProblem(pattern);
    if (problem !== undefined) report(`training.frozen.${i}`, problem);
  });
}

function checkSchedules({ training, warmStart }: Recipe, report: Report): void {
  const phases = { 'training.optimizer': training.optimizer, 'warmStart.optimizer': warmStart?.optimizer };
  for (const [at, optimizer] of Object.entries(phases)) {
    const steps = optimizer?.schedule?.decaySteps;
    if (steps !== undefined && steps <= optimizer!.warmupSteps) {
      report(
        `${at}.schedule.decaySteps`,
        `${steps}, but the warm-up alone takes ${optimizer!.warmupSteps} steps (${at}.warmupSteps)`,
      );
    }
  }
}

function checkInertKeys(recipe: Recipe, report: Report): void {
  const { prompt, algorithm, data, evaluation } = recipe;
  if (prompt.template === 'raw' && prompt.system !== undefined) {
    report(
      'prompt.system',
      'has no effect with prompt.template "raw"; expected template "chat", or no system message',
    );
  }
  const { overlong } = algorithm;
  if (overlong !== undefined && overlong.buffer >= recipe.rollout.maxNewTokens) {
    report(
      'algorithm.overlong.buffer',
      `${overlong.buffer}; expected less than rollout.maxNewTokens (${recipe.rollout.maxNewTokens}), or every response would be penalized`,
    );
  }
  const { advantage, loss, aggregation } = algorithm;
  if (algorithm.whitenAdvantages && dividesByDeviation(advantage)) {
    report(
      'algorithm.whitenAdvantages',
      `algorithm.advantage.kind "${advantage.kind}" divides by a standard deviation already; expected false, or another kind`,
    );
  }
  if ((loss.kind === 'gspo' || loss.kind === 'gmpo') && aggregation !== 'sequence-mean-token-mean') {
    report(
      'algorithm.aggregation',
      `"${aggregation}"; expected sequence-mean-token-mean, since algorithm.loss.kind "${loss.kind}" has one loss for a whole response`,
    );
  }
  const { onNonFinite, learningRateBackoff } = recipe.training;
  if (learningRateBackoff !== undefined && onNonFinite !== 'lower-learning-rate') {
    report(
      'training.learningRateBackoff',
      `has no effect with training.onNonFinite "${onNonFinite}"; expected "lower-learning-rate"`,
    );
  }
  if (evaluation === undefined && data.evaluation !== undefined) {
    report('data.evaluation', 'has no effect without the section evaluation (every, tasks)');
  }
}

function dividesByDeviation(advantage: AdvantageSettings): boolean {
  if (advantage.kind === 'cpgd') return advantage.weight === 'standard-deviation';
  return advantage.kind === 'grpo' || advantage.kind === 'grpo-pass-at-k';
}
