/** The environment of verifiable questions: one response, scored by the recipe's rewards. */
import type { RewardSettings } from '../../core/recipe.ts';
import { combineRewards } from '../../core/rewards/index.ts';
import type { Environment } from './environment.ts';

export function singleTurn(rewards: RewardSettings[]): Environment {
  return {
    open: (task) => task.prompt,
    step(task, responses, truncated) {
      const scored = combineRewards(rewards, responses.at(-1) ?? '', task);
      return { verdict: { outcome: truncated ? 'truncated' : 'scored', ...scored } };
    },
  };
}
