import { describe, expect, it } from 'vitest';
import { integerAt, seedAt } from '../../core/seeds.ts';
import { flatWeights } from '../../tests/fixtures/generation.ts';
import { tinyConfig } from '../../tests/fixtures/tiny-model.ts';
import type { DecoderConfig } from '../model/decoder-config.ts';
import { singleTokensDiffer } from './forward-graph.ts';
import { ForwardPass } from './forward-pass.ts';
import { HostKvCache } from './kv-cache.ts';
import { hostPlace } from './tensor-place.ts';
import { weightTensors } from './weight-tensors.ts';
import { weightsLayout } from './weights-layout.ts';

/** Widths at which the runtime cuts sums (256 and more inputs), one head per key head, an odd vocabulary. */
const wide: DecoderConfig = {
  ...tinyConfig,
  vocabSize: 333,
  hiddenSize: 320,
  layers: 2,
  heads: 5,
  kvHeads: 5,
  headSize: 64,
  feedForwardSize: 704,
};
const single: DecoderConfig = { ...tinyConfig, heads: 3, kvHeads: 1, headSize: 48, hiddenSize: 96 };
const configs = { grouped: tinyConfig, wide, 'one key head': single };

function tokens(config: DecoderConfig, row: number, length: number): number[] {
  const seed = seedAt(11, 'generatedTask', row);
  return Array.from({ length }, (_, i) => integerAt(seed, i, config.vocabSize));
}

interface Schedule {
  threads: number;
  /** Rows of the cache beside the one that is looked at, which is row `row`. */
  row: number;
  rows: number;
  cacheLength: number;
  /** Lengths of the chunks that the sequence is run in. */
  chunks: number[];
}

/** The keys and values of a sequence and the logits after its last token, run by a schedule next to other sequences. */
async function run(
  config: DecoderConfig,
  ids: readonly number[],
  schedule: Schedule,
): Promise<Float32Array[]> {
  const { threads, row, rows, cacheLength, chunks } = schedule;
  const weights = weightTensors(weightsLayout(config), await flatWeights(config));
  const forward = new ForwardPass(config, hostPlace('cpu'), { threads });
  const cache = new HostKvCache(config, rows, cacheLength);
  let position = 0;
  let logits = new Float32Array();
  for (const steps of chunks) {
    const idsBT = new Int32Array(rows * steps);
    for (let other = 0; other < rows; other++) {
      const source = other === row ? ids : tokens(config, 100 + other, 512);
      idsBT.set(source.slice(position, position + steps), other * steps);
    }
    const { logitsBV, vocabSize } = forward.run(weights, cache.window(rows), {
      steps,
      idsBT,
      starts: new Array<number>(rows).fill(position),
      selected: Array.from({ length: rows }, (_, other) => other * steps + steps - 1),
      temperatures: new Array<number>(rows).fill(0.7),
    });
    position += steps;
    logits = logitsBV.slice(row * vocabSize, (row + 1) * vocabSize);
  }
  forward.close();
  return [logits, cache.read(row, position).packed];
}

const ones = (count: number): number[] => new Array<number>(count).fill(1);

/** Runs of the first 100 tokens in several ways, and of the rest one by one. */
const promptAndTokens: Schedule[] = [
  { threads: 2, row: 2, rows: 3, cacheLength: 160, chunks: [100, ...ones(30)] },
  { threads: 2, row: 15, rows: 16, cacheLength: 304, chunks: [33, 67, ...ones(30)] },
  { threads: 3, row: 0, rows: 1, cacheLength: 144, chunks: [2, 16, 64, 18, ...ones(30)] },
];
const anyChunks: Schedule[] = [
  { threads: 1, row: 0, rows: 1, cacheLength: 144, chunks: ones(130) },
  { threads: 2, row: 1, rows: 2, cacheLength: 512, chunks: [33, 1, 16, 64, 15, 1] },
  { threads: 2, row: 1, rows: 5, cacheLength: 192, chunks: [7, 123] },
];

describe('what follows a token depends on the tokens up to it only, to the bit', () => {
  for (const [name, config] of Object.entries(configs)) {
    it(`${name}: any rows, company, cache length, threads and chunks`, async () => {
      const ids = tokens(config, 1, 130);
      const whole = { threads: 1, row: 0, rows: 1, cacheLength: 144, chunks: [100, ...ones(30)] };
      const expected = await run(config, ids, whole);
      const schedules = singleTokensDiffer(config) ? promptAndTokens : [...promptAndTokens, ...anyChunks];
      for (const schedule of schedules) {
        const [logits, kept] = await run(config, ids, schedule);
        const differing = (a: Float32Array, b: Float32Array) => a.filter((x, i) => x !== b[i]).length;
        const difference = [differing(logits!, expected[0]!), differing(kept!, expected[1]!)];
        expect(difference, JSON.stringify(schedule)).toEqual([0, 0]);
      }
    });
  }
});
