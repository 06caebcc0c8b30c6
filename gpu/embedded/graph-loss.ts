/** The losses that a training graph can hold: those of core/loss, and values themselves where a loss is worked out outside. */
import { tokenLoss } from '../../core/loss/index.ts';
import type { LossInputs, LossOps, LossTerms } from '../../core/loss/ops.ts';
import type { TokenLossSettings, ValueLossSettings } from '../../core/loss/settings.ts';
import { valueLoss, type ValueLossInputs } from '../../core/loss/value-loss.ts';
import type { PolicyHead } from '../training-setup.ts';
import { constantRecorder, lossConstantName } from './emit-loss.ts';
import { tensor, type Tensor } from './session.ts';

/** `value-sum`: the sum of values, each times its weight, which is then the gradient with respect to that value. */
export type GraphLoss = TokenLossSettings | ValueLossSettings | { name: 'value-sum' };

/** Names of the numbers of each trained token that losses of a head read beside the head's own. */
export function lossReads(head: PolicyHead): readonly string[] {
  return head === 'token'
    ? ['advantages', 'oldLogprobs', 'referenceLogprobs', 'importance', 'chosen']
    : ['oldValues', 'returns'];
}

/** Writes the loss over the given operations. `inputs` holds what the head says and what `lossReads` names. */
export function graphLoss<T>(
  ops: LossOps<T>,
  inputs: Readonly<Record<string, T>>,
  loss: GraphLoss,
): LossTerms<T> {
  switch (loss.name) {
    case 'value-mse':
    case 'value-clip':
      return valueLoss(ops, inputs as ValueLossInputs<T> & Record<string, T>, loss);
    case 'value-sum':
      return { loss: inputs['values']!, metrics: {} };
    default:
      return tokenLoss(ops, inputs as LossInputs<T> & Record<string, T>, loss);
  }
}

/** Losses of one form have one graph: they differ in numbers only, which are inputs. */
export function lossForm(loss: GraphLoss): string {
  if (!('kl' in loss)) return loss.name;
  const { kl, entropyCoefficient, corrected, ...policy } = loss;
  const parts = {
    keys: Object.keys(policy)
      .filter((key) => policy[key as keyof typeof policy] !== undefined)
      .sort(),
    kl: kl?.estimator ?? null,
    entropy: entropyCoefficient !== undefined,
    corrected,
  };
  return `${loss.name} ${JSON.stringify(parts)}`;
}

/** The numbers of a loss, under the names of the graph inputs that hold them. */
export function lossConstants(loss: GraphLoss): Record<string, Tensor> {
  const { ops, constants } = constantRecorder();
  graphLoss(ops, {}, loss);
  return Object.fromEntries(
    constants.map((value, i) => [lossConstantName(i), tensor(Float32Array.of(value), [])]),
  );
}
