import { describe, expect, it } from 'vitest';
import { plainLlama } from '../model/decoder-config.ts';
import { layerTensors, weightsLayout, type TensorSlot } from './weights-layout.ts';

const layout = weightsLayout({
  ...plainLlama,
  vocabSize: 7,
  hiddenSize: 8,
  layers: 2,
  heads: 4,
  kvHeads: 2,
  headSize: 2,
  feedForwardSize: 5,
  ropeTheta: 10_000,
  normEpsilon: 1e-5,
  maxPositions: 16,
});

function expectGapless(slots: TensorSlot[]): void {
  let end = 0;
  for (const { offset, length, shape } of slots) {
    expect(offset).toBe(end);
    expect(length).toBe(shape.reduce((product, size) => product * size, 1));
    end = offset + length;
  }
  expect(end).toBe(layout.parameters);
}

describe('the weights layout', () => {
  it('covers every element of the flat array once, under either set of names', () => {
    expectGapless(layout.tensors);
    expectGapless(layout.huggingFace);
  });

  it('puts q, k and v, and gate and up, where the fused matrices lie', () => {
    const { queryKeyValue, gateUp } = layerTensors(1);
    const slot = (name: string): TensorSlot =>
      [...layout.tensors, ...layout.huggingFace].find((candidate) => candidate.name === name)!;
    const layer = 'model.layers.1';
    expect(slot(queryKeyValue).shape).toEqual([16, 8]);
    expect(slot(`${layer}.self_attn.q_proj.weight`)).toMatchObject({
      shape: [8, 8],
      offset: slot(queryKeyValue).offset,
    });
    expect(slot(`${layer}.self_attn.v_proj.weight`)).toMatchObject({
      shape: [4, 8],
      offset: slot(queryKeyValue).offset + 12 * 8,
    });
    expect(slot(gateUp).shape).toEqual([10, 8]);
    expect(slot(`${layer}.mlp.up_proj.weight`).offset).toBe(slot(gateUp).offset + 5 * 8);
  });

  it('has all matrices before all norm vectors', () => {
    for (const { shape, offset } of layout.huggingFace) {
      expect(offset < layout.matrixParameters).toBe(shape.length === 2);
    }
  });
});
