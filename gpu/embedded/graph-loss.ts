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
  return head === 'token' ? ['advantages', 'oldLogprobs', 'referenceLogprobs'] : ['oldValues', 'returns'];
}

/** Writes the loss over the given operations. `inputs` holds what the head says and what `lossReads` names. */
export function graphLoss<T>(
  ops: LossOps<T>,
  inputs: Readonly<Record<string, T>>,
  loss: GraphLoss,
): LossTerms<T> {
  switch (loss.name) {
    case 'cross-entropy':
    case 'ppo-clip':
      return tokenLoss(ops, inputs as LossInputs<T> & Record<string, T>, loss);
    case 'value-mse':
    case 'value-clip':
      return valueLoss(ops, inputs as ValueLossInputs<T> & Record<string, T>, loss);
    case 'value-sum':
      return { loss: inputs['values']!, metrics: {} };
  }
}

/** Losses of one form have one graph: they differ in numbers only, which are inputs. */
export function lossForm(loss: GraphLoss): string {
  if (loss.name !== 'ppo-clip') return loss.name;
  const { kl, entropyCoefficient } = loss;
  return [loss.name, kl?.estimator ?? 'no kl', entropyCoefficient === undefined ? '' : 'entropy'].join(' ');
}

/** The numbers of a loss, under the names of the graph inputs that hold them. */
export function lossConstants(loss: GraphLoss): Record<string, Tensor> {
  const { ops, constants } = constantRecorder();
  graphLoss(ops, {}, loss);
  return Object.fromEntries(
    constants.map((value, i) => [lossConstantName(i), tensor(Float32Array.of(value), [])]),
  );
}
