/**
 * One optimizer step: gradients of all microbatches accumulated, then clipped and applied. The loss weights are those of the
 * whole minibatch, so how it is cut into microbatches changes no number but the last bits.
 */
import { trainedTokens } from '../../core/batch-metrics.ts';
import { tokenWeights, type Aggregation } from '../../core/aggregation.ts';
import type { LossSettings } from '../../core/loss/settings.ts';
import { learningRateAt } from '../../core/lr-schedule.ts';
import type { OptimizerSettings } from '../../core/recipe.ts';
import type { Engine } from '../../gpu/engine-port.ts';
import { packRows, type PackedRow } from './row-batch.ts';

export interface StepReport {
  applied: boolean;
  loss: number;
  gradientNorm: number;
  learningRate: number;
  trainedTokens: number;
  /** Weighted means over the minibatch's trained tokens. */
  metrics: Record<string, number>;
}

export interface StepRequest {
  rows: readonly PackedRow[];
  /** Row indices of each microbatch. */
  microbatches: readonly number[][];
  aggregation: Aggregation;
  /** What `sequence-mean-token-sum-norm` divides by. */
  constantLength: number;
  loss: LossSettings;
  temperature: number;
  optimizer: OptimizerSettings;
  /** Optimizer steps made before this one. */
  step: number;
  /** The most steps of the phase; a schedule may end there. */
  mostSteps: number;
}

export async function optimizerStep(engine: Engine, request: StepRequest): Promise<StepReport> {
  const { rows, microbatches, optimizer } = request;
  const indices = microbatches.flat();
  const tokensR = indices.map((r) => trainedTokens(rows[r]!));
  const weightsR = new Map(
    tokenWeights(request.aggregation, tokensR, {
      constantLength: request.constantLength,
      rolloutsR: indices.map((r) => `${rows[r]!.group}/${rows[r]!.sample}`),
    }).map((weight, i) => [indices[i]!, weight]),
  );

  let loss = 0;
  let entropySum = 0;
  const metrics: Record<string, number> = {};
  for (const microbatch of microbatches) {
    const packed = packRows(
      microbatch.map((r) => rows[r]!),
      microbatch.map((r) => weightsR.get(r)!),
    );
    const result = await engine.forwardBackward(packed, request.loss, request.temperature);
    loss += result.loss;
    entropySum += result.entropy * microbatch.reduce((sum, r) => sum + trainedTokens(rows[r]!), 0);
    for (const [name, value] of Object.entries(result.metrics)) metrics[name] = (metrics[name] ?? 0) + value;
  }
  const tokens = tokensR.reduce((sum, count) => sum + count, 0);
  const weightSum = indices.reduce((sum, r, i) => sum + weightsR.get(r)! * tokensR[i]!, 0);
  const learningRate = learningRateAt(optimizer, request.step, request.mostSteps);
  const { gradientNorm, applied } = await engine.optimizerStep({ ...optimizer, learningRate });
  return {
    applied: applied && Number.isFinite(loss),
    loss,
    gradientNorm,
    learningRate,
    trainedTokens: tokens,
    metrics: { ...meansOf(metrics, weightSum), 'policy/entropy': entropySum / tokens },
  };
}

/** The loss sums its metrics with the tokens' weights; these sum to 1 for token means only. */
function meansOf(weightedSums: Record<string, number>, weightSum: number): Record<string, number> {
  return Object.fromEntries(Object.entries(weightedSums).map(([name, sum]) => [name, sum / weightSum]));
}

/** `tokens/trained` and, of the time since `startedAt`, `tokens/trained_per_second`: 0 where that is too short to be measured. */
export function trainingThroughput(steps: readonly StepReport[], startedAt: number): Record<string, number> {
  const tokens = steps.reduce((sum, step) => sum + step.trainedTokens, 0);
  const seconds = (Date.now() - startedAt) / 1000;
  return { 'tokens/trained': tokens, 'tokens/trained_per_second': seconds > 0 ? tokens / seconds : 0 };
}

/** Means over the steps of an update, under the names of the run's metrics. */
export function meanOfSteps(steps: readonly StepReport[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const step of steps) {
    const values = {
      'loss/policy': step.loss,
      'gradient/norm': step.gradientNorm,
      'optimizer/learning_rate': step.learningRate,
      ...step.metrics,
    };
    for (const [name, value] of Object.entries(values)) sums[name] = (sums[name] ?? 0) + value / steps.length;
  }
  return sums;
}
