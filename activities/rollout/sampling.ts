/** How a recipe samples, and the seed of each sample: a function of its coordinates only. */
import type { Hyperparameters, Recipe } from '../../core/recipe.ts';
import { seedAt, type Seed } from '../../core/seeds.ts';
import type { Sampling } from '../../gpu/engine-port.ts';

export type Purpose = 'training' | 'evaluation';

/** Evaluation is greedy; training samples as the recipe says, with a temperature that may have been steered. */
export function samplingOf(
  recipe: Recipe,
  purpose: Purpose,
  changed: Hyperparameters,
  stopIds: readonly number[],
): Sampling {
  const { rollout } = recipe;
  if (purpose === 'evaluation') {
    return {
      temperature: 0,
      topK: 0,
      topP: 1,
      maxNewTokens: maxNewTokens(recipe, purpose),
      stopIds,
    };
  }
  return {
    temperature: temperatureOf(recipe, changed),
    topK: rollout.topK,
    topP: rollout.topP,
    maxNewTokens: maxNewTokens(recipe, purpose),
    stopIds,
  };
}

/** Longest response of a turn. */
export function maxNewTokens({ rollout, evaluation }: Recipe, purpose: Purpose): number {
  return (purpose === 'evaluation' ? evaluation?.maxNewTokens : undefined) ?? rollout.maxNewTokens;
}

export function temperatureOf(recipe: Recipe, changed: Hyperparameters): number {
  return changed.temperature ?? recipe.rollout.temperature;
}

export function sampleSeed(
  runSeed: number,
  iteration: number,
  group: number,
  sample: number,
  turn: number,
): Seed {
  const [first, second] = seedAt(runSeed, 'rollout', iteration, group, sample);
  return seedAt((first ^ Math.imul(turn, 0x9e3779b1)) >>> 0, 'rollout', second, turn, 0);
}
