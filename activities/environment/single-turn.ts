/** The environment of verifiable questions: one response, scored by the recipe's rewards. */
import type { RewardSettings } from '../../core/recipe.ts';
import { combineRewards } from '../../core/rewards/index.ts';
import type { Environment, EpisodeSoFar } from './environment.ts';

export function singleTurn(rewards: RewardSettings[]): Environment {
  const score = ({ responses, task }: EpisodeSoFar) => combineRewards(rewards, responses.at(-1) ?? '', task);
  return {
    open: ({ task }) => Promise.resolve(task.prompt),
    step: (episode) => Promise.resolve({ verdict: { outcome: 'scored', ...score(episode) } }),
    end: (episode) => Promise.resolve(score(episode)),
  };
}
