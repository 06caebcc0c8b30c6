/**
 * Cosines and sines of rotary positions: angle(position, i) = position / positionsPerRadian(i), in double, rounded once.
 * Su et al., "RoFormer: enhanced transformer with rotary position embedding", 2021.
 */
import type { DecoderConfig, RopeScaling } from '../model/decoder-config.ts';

/** Both tables are [maxPositions, headSize / 2], row-major. */
export interface RotaryTables {
  shape: number[];
  cosines: Float32Array;
  sines: Float32Array;
}

/** How many positions turn each pair of a head by one radian: theta^(2i / headSize), stretched by the scaling. */
export function positionsPerRadian({
  headSize,
  ropeTheta,
  ropeScaling,
}: Pick<DecoderConfig, 'headSize' | 'ropeTheta' | 'ropeScaling'>): number[] {
  return Array.from({ length: headSize / 2 }, (_, i) => {
    const unscaled = ropeTheta ** ((2 * i) / headSize);
    return ropeScaling ? stretched(unscaled, ropeScaling) : unscaled;
  });
}

/**
 * `linear` slows every pair (Chen et al., "Extending context window of large language models via positional interpolation",
 * 2023). `llama3` slows pairs that turn less than `lowFrequencyFactor` times in the original context, keeps those that turn more
 * than `highFrequencyFactor` times, and interpolates the frequency in between (as Llama 3.1's reference code does).
 */
function stretched(unscaled: number, scaling: RopeScaling): number {
  const slowest = unscaled * scaling.factor;
  if (scaling.kind === 'linear') return slowest;
  const { lowFrequencyFactor: low, highFrequencyFactor: high, originalMaxPositions } = scaling;
  const turns = originalMaxPositions / (2 * Math.PI * unscaled);
  const kept = Math.min(1, Math.max(0, (turns - low) / (high - low)));
  return 1 / ((1 - kept) / slowest + kept / unscaled);
}

export function rotaryTables(
  config: Pick<DecoderConfig, 'headSize' | 'ropeTheta' | 'ropeScaling' | 'maxPositions'>,
): RotaryTables {
  const periods = positionsPerRadian(config);
  const half = periods.length;
  const cosines = new Float32Array(config.maxPositions * half);
  const sines = new Float32Array(config.maxPositions * half);
  for (let position = 0; position < config.maxPositions; position++) {
    for (let i = 0; i < half; i++) {
      const angle = position / periods[i]!;
      cosines[position * half + i] = Math.cos(angle);
      sines[position * half + i] = Math.sin(angle);
    }
  }
  return { shape: [config.maxPositions, half], cosines, sines };
}
