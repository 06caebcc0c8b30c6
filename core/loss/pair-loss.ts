import { Float64Tape } from './float64-tape.ts';
import type { LossOps } from './ops.ts';

/**
 * The Bradley-Terry loss of a pair of rewards, optionally with a margin (Touvron et al. 2023, "Llama 2", equation 2):
 *
 *   loss = -log sigmoid(chosen - rejected - margin)
 *
 * written as softplus so that no exponential overflows.
 */
function pairLoss<T>(ops: LossOps<T>, chosen: T, rejected: T, margin: T): T {
  const shortfall = ops.sub(margin, ops.sub(chosen, rejected));
  const size = ops.maximum(shortfall, ops.neg(shortfall));
  const rest = ops.log(ops.add(ops.constant(1), ops.exp(ops.neg(size))));
  return ops.add(ops.maximum(shortfall, ops.constant(0)), rest);
}

export interface EvaluatedPairs {
  /** Sum over pairs of weight * loss. */
  loss: number;
  /** d loss / d reward of each row. */
  gradientR: Float64Array;
  /** Sums over pairs with the same weights: `reward/accuracy`, 1 where the chosen row wins, and `reward/difference`. */
  metrics: Record<string, number>;
}

/**
 * The loss of rewards in consecutive pairs, the chosen row first.
 * @param weightsR Weight of each pair, read at its chosen row.
 * @param marginsR By how much the chosen row should win, read there too.
 */
export function evaluatePairs(
  rewardsR: ArrayLike<number>,
  weightsR: ArrayLike<number>,
  marginsR: ArrayLike<number>,
): EvaluatedPairs {
  const pairs = rewardsR.length / 2;
  const tape = new Float64Tape([pairs]);
  const ofPairs = (values: ArrayLike<number>, row: 0 | 1): number[] =>
    Array.from({ length: pairs }, (_, pair) => values[2 * pair + row]!);
  const chosen = tape.input(ofPairs(rewardsR, 0));
  const rejected = tape.input(ofPairs(rewardsR, 1));
  const loss = pairLoss(tape, chosen, rejected, tape.input(ofPairs(marginsR, 0)));
  tape.backward(loss);

  const weights = ofPairs(weightsR, 0);
  const sum = (valueOf: (pair: number) => number): number =>
    weights.reduce((total, weight, pair) => total + weight * valueOf(pair), 0);
  const difference = (pair: number): number => chosen.values[pair]! - rejected.values[pair]!;
  return {
    loss: sum((pair) => loss.values[pair]!),
    gradientR: Float64Array.from(
      rewardsR,
      (_, row) => weights[row >> 1]! * (row % 2 === 0 ? chosen : rejected).gradients[row >> 1]!,
    ),
    metrics: {
      'reward/accuracy': sum((pair) => Number(difference(pair) > 0)),
      'reward/difference': sum(difference),
    },
  };
}
