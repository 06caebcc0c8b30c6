/** The registry of rewards, by their kind in a recipe, and their weighted sum. */
import type { RewardSettings } from '../recipe.ts';
import type { Task } from '../records.ts';
import { exactMatch } from './exact-match.ts';
import { format } from './format.ts';
import { mathAnswer } from './math-answer.ts';
import type { Verifier } from './verifier.ts';

/** The verifier of a reward. Throws RecipeError if its settings can't be used. */
export function verifierOf(settings: RewardSettings): Verifier {
  switch (settings.kind) {
    case 'exact-match':
      return exactMatch;
    case 'math-answer':
      return mathAnswer;
    case 'format':
      return format(settings.pattern);
  }
}

export interface CombinedRewards {
  /** What each source gives, from 0 to 1, unweighted. A kind used again is named `format-2`, `format-3`, … */
  rewards: Record<string, number>;
  /** The sum of weight times reward. */
  reward: number;
}

/** Scores a response by all rewards of a recipe. Verifiers are made once for each settings array. */
export function combineRewards(
  settings: readonly RewardSettings[],
  response: string,
  task: Task,
): CombinedRewards {
  const rewards: Record<string, number> = {};
  let reward = 0;
  for (const source of sourcesOf(settings)) {
    const value = source.verify(response, task);
    rewards[source.name] = value;
    reward += source.weight * value;
  }
  return { rewards, reward };
}

interface Source {
  name: string;
  weight: number;
  verify: Verifier;
}

const sourcesBySettings = new WeakMap<readonly RewardSettings[], Source[]>();

function sourcesOf(settings: readonly RewardSettings[]): Source[] {
  const known = sourcesBySettings.get(settings);
  if (known) return known;
  const uses = new Map<string, number>();
  const sources = settings.map((setting) => {
    const use = (uses.get(setting.kind) ?? 0) + 1;
    uses.set(setting.kind, use);
    const name = use === 1 ? setting.kind : `${setting.kind}-${use}`;
    return { name, weight: setting.weight, verify: verifierOf(setting) };
  });
  sourcesBySettings.set(settings, sources);
  return sources;
}
