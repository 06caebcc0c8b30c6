/**
 * Verifiable questions with more than one try: after a response that does not earn the recipe's first reward in full, the policy
 * reads the feedback and may answer again. The last response is scored by all rewards, its sum discounted for each one before it.
 */
import type { EnvironmentSettings, RewardSettings } from '../../core/recipe.ts';
import { combineRewards, rewardName, type CombinedRewards } from '../../core/rewards/index.ts';
import type { Environment, EpisodeSoFar } from './environment.ts';

export type AttemptsSettings = Extract<EnvironmentSettings, { kind: 'attempts' }>;

export function attempts(settings: AttemptsSettings, rewards: RewardSettings[]): Environment {
  const decisive = rewardName(rewards[0]!);
  const score = ({ responses, task }: EpisodeSoFar): CombinedRewards => {
    const scored = combineRewards(rewards, responses.at(-1) ?? '', task);
    return { ...scored, reward: scored.reward * settings.discount ** (responses.length - 1) };
  };
  return {
    open: ({ task }) => Promise.resolve(task.prompt),
    step(episode) {
      const scored = score(episode);
      const over = scored.rewards[decisive] === 1 || episode.responses.length >= settings.attempts;
      return Promise.resolve(
        over ? { verdict: { outcome: 'scored', ...scored } } : { observation: settings.feedback },
      );
    },
    end: (episode) => Promise.resolve(score(episode)),
  };
}
