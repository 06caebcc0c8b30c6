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
  const { rollout, evaluation } = recipe;
  if (purpose === 'evaluation') {
    return {
      temperature: 0,
      topK: 0,
      topP: 1,
      maxNewTokens: evaluation?.maxNewTokens ?? rollout.maxNewTokens,
      stopIds,
    };
  }
  return {
    temperature: temperatureOf(recipe, changed),
    topK: rollout.topK,
    topP: rollout.topP,
    maxNewTokens: rollout.maxNewTokens,
    stopIds,
  };
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
