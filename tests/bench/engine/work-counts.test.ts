import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Trainer } from '../../../gpu/embedded/trainer.ts';
import { weightsLayout } from '../../../gpu/embedded/weights-layout.ts';
import { tinyConfig } from '../../fixtures/tiny-model.ts';
import { scratchFolder } from '../../harness/scratch-folder.ts';
import { benchModels } from './model-shapes.ts';
import { loss, trainingBatch } from './training-batch.ts';
import { decodeBytes, trainingFlops } from './work-counts.ts';

interface ProfiledNode {
  op_name: string;
  input_type_shape: Record<string, number[]>[];
  output_type_shape: Record<string, number[]>[];
}

const product = (sizes: readonly number[]): number => sizes.reduce((total, size) => total * size, 1);

/** Flops of the matrix products that the runtime's profile tells of, those of two-dimensional operands apart from the batched. */
function profiledFlops(folder: string): { linear: number; attention: number } {
  const flops = { linear: 0, attention: 0 };
  for (const file of readdirSync(folder)) {
    const events = JSON.parse(readFileSync(join(folder, file), 'utf8')) as { args?: ProfiledNode }[];
    for (const { args } of events) {
      if (!args?.input_type_shape || !/^(Fused)?(MatMul|Gemm)$/.test(args.op_name)) continue;
      const [left, right] = args.input_type_shape.map((typed) => Object.values(typed)[0]!);
      const output = Object.values(args.output_type_shape[0]!)[0]!;
      // Both operands together hold each of rows and columns once and the summed dimension twice, within each matrix of a batch.
      const [rows, columns] = output.slice(-2);
      // A product with one vector is a sum, written so because the runtime is quick at it.
      if (rows === 1 || columns === 1) continue;
      const batch = product(output.slice(0, -2));
      const summed = product(left!.slice(-2)) / rows!;
      expect(product(right!.slice(-2))).toBe(summed * columns!);
      flops[output.length === 2 ? 'linear' : 'attention'] += 2 * batch * rows! * columns! * summed;
    }
  }
  return flops;
}

describe('trainingFlops', () => {
  it('counts the matrix products that the runtime runs in a forward and backward pass', () => {
    const folder = scratchFolder();
    const options = { threads: 1, profilePrefix: join(folder, 'profile') };
    const trainer = new Trainer(tinyConfig, options);
    const weights = new Float32Array(weightsLayout(tinyConfig).parameters).fill(0.01);
    trainer.beginUpdate(weights, null, 0);
    trainer.forwardBackward(trainingBatch(3, 20, tinyConfig.vocabSize), loss, 1);
    trainer.close();
    expect(trainingFlops(tinyConfig, { rows: 3, positions: 20 })).toEqual(profiledFlops(folder));
  });

  it('is 6 flops a parameter and position, and for attention 12 a layer, position pair and query width', () => {
    const { config, trainingRows, trainingPositions } = benchModels['15M'];
    const { linear, attention } = trainingFlops(config, { rows: trainingRows, positions: trainingPositions });
    const matrices = weightsLayout(config).matrixParameters;
    expect(linear).toBe(6 * 8 * 256 * matrices);
    expect(attention).toBe(12 * 6 * 8 * 256 * 256 * 288);
  });
});

describe('decodeBytes', () => {
  it('is all weights and, for each sequence, its keys and values', () => {
    const { config } = benchModels['135M'];
    const { parameters } = weightsLayout(config);
    const perToken = 30 * 2 * 3 * 64 * 4;
    expect(decodeBytes(config, { sequences: 16, meanLength: 150 })).toBe(
      4 * parameters + 16 * 150 * perToken,
    );
  });

  it('leaves out an embedding that is not the head: a step looks up a few of its rows', () => {
    const size = { sequences: 0, meanLength: 0 };
    const untied = { ...tinyConfig, tiedHead: false };
    expect(decodeBytes(untied, size)).toBe(decodeBytes(tinyConfig, size));
  });
});
