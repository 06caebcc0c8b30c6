/**
 * Whitening: advantages shifted and scaled to mean 0 and variance 1 over all trained tokens of the batch, each trajectory's
 * number counted once for each of its tokens. Advantages that are all equal become 0.
 */
import type { Advantage, Group } from './estimator.ts';

/** Added to the variance, as in verl and TRL. */
const epsilon = 1e-8;

export function whiten(advantages: readonly Advantage[][], groups: readonly Group[]): Advantage[][] {
  let tokens = 0;
  let sum = 0;
  const each = (visit: (value: number, times: number) => void): void => {
    advantages.forEach((ofGroup, g) =>
      ofGroup.forEach((advantage, i) => {
        if (typeof advantage === 'number') visit(advantage, groups[g]![i]!.tokens);
        else advantage.forEach((value) => visit(value, 1));
      }),
    );
  };
  each((value, times) => {
    tokens += times;
    sum += times * value;
  });
  const mean = sum / tokens;
  let squares = 0;
  each((value, times) => (squares += times * (value - mean) ** 2));
  const scale = 1 / Math.sqrt((tokens > 1 ? squares / (tokens - 1) : 0) + epsilon);
  const whitened = (value: number): number => (value - mean) * scale;
  return advantages.map((ofGroup) =>
    ofGroup.map((advantage) =>
      typeof advantage === 'number' ? whitened(advantage) : advantage.map(whitened),
    ),
  );
}
