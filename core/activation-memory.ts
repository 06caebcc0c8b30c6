/**
 * What a training pass keeps in memory between its forward and its backward half, and how many positions may therefore run at
 * once. With checkpointing a layer keeps its input only, until its turn comes in the backward half.
 */
import type { ModelShape } from './model-shape.ts';

const budgetBytes = 512 * 2 ** 20;
const fewestPositions = 256;
/** Larger runs gain nothing, since their activations leave the processor's caches. */
const mostPositions = 2048;
const floatBytes = 4;

/** @param rowPositions Positions of a row: attention keeps a weight for each pair of them. */
function bytesPerPosition(shape: ModelShape, rowPositions: number, checkpointing: boolean): number {
  const { layers, hiddenSize, feedForwardSize, heads, vocabSize } = shape;
  const layer = 16 * hiddenSize + 4 * feedForwardSize + 2 * heads * rowPositions;
  const ofLayers = checkpointing ? layers * hiddenSize + layer : layers * layer;
  return floatBytes * (ofLayers + 3 * vocabSize);
}

/** Most positions, padding included, in one run over rows of `rowPositions`; a single row may be longer. */
export function positionLimit(shape: ModelShape, rowPositions: number, checkpointing: boolean): number {
  const fitting = Math.floor(budgetBytes / bytesPerPosition(shape, rowPositions, checkpointing));
  return Math.min(mostPositions, Math.max(fewestPositions, fitting));
}

/** An upper estimate of the activations of one run over rows of `rowPositions`. */
export function activationBytes(shape: ModelShape, rowPositions: number, checkpointing: boolean): number {
  const positions = Math.max(rowPositions, positionLimit(shape, rowPositions, checkpointing));
  return positions * bytesPerPosition(shape, rowPositions, checkpointing);
}
