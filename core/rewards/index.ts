/** The registry of rewards, by their kind in a recipe, and their weighted sum. */
import type { RewardSettings } from '../recipe.ts';
import type { Task } from '../records.ts';
import { exactMatch } from './exact-match.ts';
import { format } from './format.ts';
import { mathAnswer } from './math-answer.ts';
import type { Verifier } from './verifier.ts';

type VerifierSettings = Exclude<RewardSettings, { kind: 'environment' }>;

/** The verifier of a reward. Throws RecipeError if its settings can't be used. */
export function verifierOf(settings: VerifierSettings): Verifier {
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
  /** What each source gives, unweighted: from 0 to 1, but for what an environment gives. A kind used again is named `format-2`, … */
  rewards: Record<string, number>;
  /** The sum of weight times reward. */
  reward: number;
}

/** The name under which a reward is recorded: an environment's own, else the kind. */
export function rewardName(settings: RewardSettings): string {
  return settings.kind === 'environment' ? settings.name : settings.kind;
}

/**
 * Scores a response by all rewards of a recipe; `given` holds what the environment gives, by name, 0 where it gives nothing.
 * Verifiers are made once for each settings array.
 */
export function combineRewards(
  settings: readonly RewardSettings[],
  response: string,
  task: Task,
  given: Readonly<Record<string, number>> = {},
): CombinedRewards {
  const rewards: Record<string, number> = {};
  let reward = 0;
  for (const source of sourcesOf(settings)) {
    const value = source.verify === null ? (given[source.name] ?? 0) : source.verify(response, task);
    rewards[source.name] = value;
    reward += source.weight * value;
  }
  return { rewards, reward };
}

interface Source {
  name: string;
  weight: number;
  /** Null for a reward that the environment gives. */
  verify: Verifier | null;
}

const sourcesBySettings = new WeakMap<readonly RewardSettings[], Source[]>();

function sourcesOf(settings: readonly RewardSettings[]): Source[] {
  const known = sourcesBySettings.get(settings);
  if (known) return known;
  const uses = new Map<string, number>();
  const sources = settings.map((setting) => {
    const own = rewardName(setting);
    const use = (uses.get(own) ?? 0) + 1;
    uses.set(own, use);
    const name = use === 1 ? own : `${own}-${use}`;
    const verify = setting.kind === 'environment' ? null : verifierOf(setting);
    return { name, weight: setting.weight, verify };
  });
  sourcesBySettings.set(settings, sources);
  return sources;
}
