import type { PolicyLoss } from './ops.ts';
import type { TokenLossSettings } from './settings.ts';

/** Negative log-likelihood of the given token, in nats: loss = -log policy. */
export const crossEntropy: PolicyLoss<Extract<TokenLossSettings, { name: 'cross-entropy' }>> = (
  ops,
  inputs,
) => ({
  loss: ops.neg(inputs.logprobs),
  metrics: {},
});
