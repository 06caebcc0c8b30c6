/** Advantages by the estimator's name in a recipe. */
import type { AdvantageSettings } from '../algorithm.ts';
import { cpgd } from './cpgd.ts';
import { drGrpo } from './dr-grpo.ts';
import type { Advantage, AdvantageEstimator, Group } from './estimator.ts';
import { gpg } from './gpg.ts';
import { grpo } from './grpo.ts';
import { grpoPassAtK } from './grpo-pass-at-k.ts';
import { opo } from './opo.ts';
import { reinforce } from './reinforce.ts';
import { rloo } from './rloo.ts';

type SettingsOf<Kind extends AdvantageSettings['kind']> = Extract<AdvantageSettings, { kind: Kind }>;

export const advantageEstimators: {
  [Kind in AdvantageSettings['kind']]: AdvantageEstimator<SettingsOf<Kind>>;
} = {
  grpo,
  'dr-grpo': drGrpo,
  rloo,
  reinforce,
  opo,
  gpg,
  'grpo-pass-at-k': grpoPassAtK,
  cpgd,
};

/** Advantages of each trajectory of each group. */
export function estimateAdvantages(groups: readonly Group[], settings: AdvantageSettings): Advantage[][] {
  // The registry's type joins each kind with its settings; a lookup by a kind that is not known yet loses that.
  const estimate = advantageEstimators[settings.kind] as AdvantageEstimator<AdvantageSettings>;
  return estimate(groups, settings);
}
