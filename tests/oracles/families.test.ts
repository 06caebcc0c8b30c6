/** A tiny model of every family against PyTorch: families/families-golden.json holds what it computed. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { seedAt } from '../../core/seeds.ts';
import { Generator } from '../../gpu/embedded/generator.ts';
import { writeWeights } from '../../gpu/embedded/policy-files.ts';
import { Trainer } from '../../gpu/embedded/trainer.ts';
import { weightTensors } from '../../gpu/embedded/weight-tensors.ts';
import { weightsLayout } from '../../gpu/embedded/weights-layout.ts';
import type { RowBatch, StepSettings } from '../../gpu/engine-port.ts';
import type { DecoderConfig } from '../../gpu/model/decoder-config.ts';
import { families } from '../../gpu/model/families/index.ts';
import { toHuggingFaceConfig } from '../../gpu/model/huggingface-config.ts';
import { fileNames, jsonFile } from '../../gpu/model/model-files.ts';
import { plainSampling } from '../fixtures/generation.ts';
import { randomWeights, tinyFamilies } from '../fixtures/tiny-families.ts';
import { randomBatch } from '../fixtures/training.ts';
import { referenceForward } from './reference-forward.ts';
import { namedTensors, referenceLoss } from './reference-loss.ts';

/** Norm, and products with two fixed directions. */
type Summary = [number, number, number];
interface FamilyGolden {
  config: string;
  class: string;
  /** Of the last token of the last row, and what greedy decoding makes of that row. */
  lastLogits: number[];
  greedy: number[];
  loss: number;
  logprobs: number[][];
  gradientNorm: number;
  gradients: Record<string, Summary>;
  updates: Record<string, Summary>;
}

const goldenPath = fileURLToPath(new URL('families/families-golden.json', import.meta.url));
const script = fileURLToPath(new URL('families/families_golden.py', import.meta.url));
const crossEntropy = { name: 'cross-entropy' } as const;
const temperature = 0.8;
const adamw: StepSettings = {
  learningRate: 1e-2,
  beta1: 0.9,
  beta2: 0.98,
  // Large enough that the first step depends on the sizes of gradients, not only on their signs.
  epsilon: 1e-3,
  weightDecay: 0.1,
  gradientClip: 1,
};
const greedyTokens = 12;
const batchOf = (config: DecoderConfig): RowBatch => randomBatch(config, [18, 11]);
const configFile = (config: DecoderConfig): Uint8Array =>
  jsonFile(toHuggingFaceConfig({ decoder: config, bosId: null, eosIds: [] }));

let golden: { models: Record<string, FamilyGolden> };

async function renewGolden(python: string): Promise<void> {
  const root = await mkdtemp(join(tmpdir(), 'rekindle-families-'));
  const requests: Record<string, unknown> = {};
  for (const [name, config] of Object.entries(tinyFamilies)) {
    const folder = join(root, name);
    await mkdir(folder);
    await writeFile(join(folder, fileNames.config), configFile(config));
    await writeWeights(join(folder, fileNames.weights), weightsLayout(config), randomWeights(config));
    const { ids, trained, weights, rowLengths } = batchOf(config);
    let end = 0;
    const rows = Array.from(rowLengths, (length) => {
      const of = (values: Iterable<number> & { slice(from: number, to: number): Iterable<number> }) => [
        ...values.slice(end - length, end),
      ];
      end += length;
      return { ids: of(ids), trained: of(trained), weights: of(weights) };
    });
    requests[folder] = { rows, temperature, adamw, greedyTokens };
  }
  const running = promisify(execFile)(python, [script], { maxBuffer: 1 << 26 });
  running.child.stdin!.end(JSON.stringify(requests));
  await writeFile(goldenPath, (await running).stdout);
  await rm(root, { recursive: true });
}

beforeAll(async () => {
  const python = process.env['REKINDLE_ORACLE_PYTHON'];
  if (python !== undefined) await renewGolden(python);
  golden = JSON.parse(await readFile(goldenPath, 'utf8')) as typeof golden;
}, 180_000);

function norm(values: Float32Array): number {
  return Math.sqrt(values.reduce((sum, value) => sum + value * value, 0));
}

/** The summary that the golden script makes, and the norms of the directions (1 for the norm itself). */
function summarize(values: Float32Array): { summary: number[]; scales: number[] } {
  const directions = [1, 2].map((k) => values.map((_, i) => Math.cos(0.1 * k * i + k)));
  const products = directions.map((direction) => values.reduce((sum, x, i) => sum + x * direction[i]!, 0));
  return { summary: [norm(values), ...products], scales: [1, ...directions.map(norm)] };
}

/** Differences are relative to what the norm and the products could be at most. */
function expectAlike(values: Float32Array, expected: Summary, name: string): void {
  const { summary, scales } = summarize(values);
  summary.forEach((value, i) => {
    expect(Math.abs(value - expected[i]!) / (expected[0] * scales[i]!), name).toBeLessThan(1e-5);
  });
}

describe.each(Object.entries(tinyFamilies))('%s in PyTorch', (name, config) => {
  const batch = batchOf(config);
  const lastRow = [...batch.ids.slice(-batch.rowLengths.at(-1)!)];
  const layout = weightsLayout(config);
  const weights = randomWeights(config);
  const expectLogprobs = (logprobs: ArrayLike<number>, digits: number): void => {
    const expected = golden.models[name]!.logprobs.flatMap((row) => [0, ...row]);
    batch.trained.forEach((trained, t) => {
      if (trained === 1) expect(logprobs[t]).toBeCloseTo(expected[t]!, digits);
    });
  };

  it('is read from the very config.json that we write', () => {
    const expected = golden.models[name]!;
    expect(expected.class).toBe(families[config.family].architecture);
    const hash = createHash('sha256').update(configFile(config)).digest('hex');
    expect(expected.config).toBe(`sha256:${hash}`);
  });

  it('has the loss, log-probs and logits of the float64 oracle', () => {
    const expected = golden.models[name]!;
    const { loss, logprobs } = referenceLoss(config, weights, batch, crossEntropy, temperature);
    expect(loss / expected.loss).toBeCloseTo(1, 6);
    expectLogprobs(logprobs, 5);
    const logits = referenceForward(config, namedTensors(config, weights), lastRow).at(-1)!;
    logits.forEach((logit, id) => expect(logit).toBeCloseTo(expected.lastLogits[id]!, 5));
  });

  it('has the loss, log-probs, gradients and first AdamW step of the trainer', () => {
    const expected = golden.models[name]!;
    const trainer = new Trainer(config, { threads: 1 });
    trainer.beginUpdate(weights, null, 0);
    const result = trainer.forwardBackward(batch, crossEntropy, temperature);
    expect(result.loss / expected.loss).toBeCloseTo(1, 5);
    expectLogprobs(result.logprobs, 4);
    for (const { name, offset, length } of layout.huggingFace) {
      const gradient = trainer.gradients.subarray(offset, offset + length);
      expectAlike(gradient, expected.gradients[name]!, `gradient of ${name}`);
    }
    const { gradientNorm } = trainer.optimizerStep(adamw);
    expect(gradientNorm / expected.gradientNorm).toBeCloseTo(1, 5);
    const updates = trainer.weights.map((weight, i) => weight - weights[i]!);
    for (const { name, offset, length } of layout.huggingFace) {
      expectAlike(updates.subarray(offset, offset + length), expected.updates[name]!, `update of ${name}`);
    }
  });

  it('decodes greedily to the same tokens', async () => {
    const generator = new Generator(config, { threads: 1, slots: 2 });
    const prompts = [{ ids: lastRow, seeds: [seedAt(1, 'rollout', 1, 0, 0)] }];
    const sampling = { ...plainSampling, temperature: 0, maxNewTokens: greedyTokens, stopIds: [] };
    let ids: readonly number[] = [];
    await generator.generate(
      weightTensors(layout, weights),
      { weights: name, prompts, sampling },
      (completions) => ({ ids } = completions[0]!),
    );
    await generator.close();
    expect(ids).toEqual(golden.models[name]!.greedy);
  });
});
