/**
 * Cosines and sines of rotary positions: angle(position, i) = position / theta^(2i / headSize), in double, rounded once.
 * Su et al., "RoFormer: enhanced transformer with rotary position embedding", 2021.
 */
import type { DecoderConfig } from '../model/decoder-config.ts';

/** Both tables are [maxPositions, headSize / 2], row-major. */
export interface RotaryTables {
  shape: number[];
  cosines: Float32Array;
  sines: Float32Array;
}

export function rotaryTables(
  config: Pick<DecoderConfig, 'headSize' | 'ropeTheta' | 'maxPositions'>,
): RotaryTables {
  const { headSize, ropeTheta, maxPositions } = config;
  const half = headSize / 2;
  const cosines = new Float32Array(maxPositions * half);
  const sines = new Float32Array(maxPositions * half);
  for (let position = 0; position < maxPositions; position++) {
    for (let i = 0; i < half; i++) {
      const angle = position / ropeTheta ** ((2 * i) / headSize);
      cosines[position * half + i] = Math.cos(angle);
      sines[position * half + i] = Math.sin(angle);
    }
  }
  return { shape: [maxPositions, half], cosines, sines };
}
