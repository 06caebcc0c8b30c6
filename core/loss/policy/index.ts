/** The registry of policy losses, by their name in a recipe. */
import type { LossInputs, LossOps, LossTerms, PolicyLoss } from '../ops.ts';
import type { PolicyLossName, PolicyLossOf, PolicyLossSettings } from '../settings.ts';
import { cispo } from './cispo.ts';
import { clipCov, klCov } from './covariance.ts';
import { cpgd } from './cpgd.ts';
import { dppoKl, dppoTv } from './dppo.ts';
import { dro } from './dro.ts';
import { gmpo } from './gmpo.ts';
import { gspo, gspoToken } from './gspo.ts';
import { importanceSampling } from './importance-sampling.ts';
import { ppoClip } from './ppo-clip.ts';
import { reinforce } from './reinforce.ts';
import { sapo } from './sapo.ts';

export const policyLosses: { [Name in PolicyLossName]: PolicyLoss<PolicyLossOf<Name>> } = {
  'ppo-clip': ppoClip,
  gspo,
  'gspo-token': gspoToken,
  gmpo,
  cispo,
  cpgd,
  sapo,
  reinforce,
  'importance-sampling': importanceSampling,
  'dppo-tv': dppoTv,
  'dppo-kl': dppoKl,
  dro,
  'clip-cov': clipCov,
  'kl-cov': klCov,
};

/** Writes the policy term that the settings name, over the given operations. */
export function policyTerm<T>(
  ops: LossOps<T>,
  inputs: LossInputs<T>,
  settings: PolicyLossSettings,
): LossTerms<T> {
  // The registry's type joins each name with its settings; a lookup by a name that is not known yet loses that.
  const loss = policyLosses[settings.name] as PolicyLoss<PolicyLossSettings>;
  return loss(ops, inputs, settings);
}
