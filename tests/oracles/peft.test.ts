/** Adapters, value and reward heads against PEFT and PyTorch: peft/peft-golden.json holds what they computed. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writeAdapter } from '../../gpu/adapters/adapter-files.ts';
import { adapterLayout } from '../../gpu/adapters/adapter-layout.ts';
import { adapterConfigFile, adapterFileNames } from '../../gpu/adapters/peft-config.ts';
import { EmbeddedEngine } from '../../gpu/embedded/engine.ts';
import { writeWeights } from '../../gpu/embedded/policy-files.ts';
import { Trainer } from '../../gpu/embedded/trainer.ts';
import { weightTensors } from '../../gpu/embedded/weight-tensors.ts';
import { weightsLayout } from '../../gpu/embedded/weights-layout.ts';
import type { ForwardBackwardResult, RowBatch, StepSettings, WeightsSource } from '../../gpu/engine-port.ts';
import { plainLlama, type DecoderConfig } from '../../gpu/model/decoder-config.ts';
import { toHuggingFaceConfig } from '../../gpu/model/huggingface-config.ts';
import { fileNames, jsonFile } from '../../gpu/model/model-files.ts';
import { trainEverything } from '../../gpu/training-setup.ts';
import { uniform } from '../fixtures/training.ts';
import { scratchFolder } from '../harness/scratch-folder.ts';

/** Norm, and products with two fixed directions. */
type Summary = [number, number, number];
interface Trained {
  loss: number;
  gradients: Record<string, Summary>;
  updates: Record<string, Summary>;
}
interface Golden {
  adapterFile: string;
  ourAdapter: Trained & { logprobs: number[][] };
  peftAdapter: { files: Record<string, string>; logprobs: number[][]; withinBoundOfA: boolean };
  reward: Trained & { rewards: number[] };
  value: Trained & { values: number[][] };
}

const goldenPath = fileURLToPath(new URL('peft/peft-golden.json', import.meta.url));
const script = fileURLToPath(new URL('peft/peft_golden.py', import.meta.url));

const config: DecoderConfig = {
  ...plainLlama,
  vocabSize: 29,
  hiddenSize: 32,
  layers: 2,
  heads: 4,
  kvHeads: 2,
  headSize: 16,
  feedForwardSize: 48,
  ropeTheta: 1000,
  normEpsilon: 1e-5,
  maxPositions: 32,
};
const adapter = { rank: 3, alpha: 5, targets: 'all-linear', rankStabilized: false } as const;
const adamw: StepSettings = {
  learningRate: 1e-2,
  beta1: 0.9,
  beta2: 0.98,
  epsilon: 1e-3,
  weightDecay: 0.1,
  gradientClip: Infinity,
};
const base = weightsLayout(config);
const scored = weightsLayout(config, 'score');
const adapterSlots = adapterLayout(base, adapter, false);
const adapterWeights = uniform(adapterSlots.parameters, 3);
const lengths = [12, 9];
const ids = Int32Array.from(uniform(21, 2), (u) => Math.floor((u + 0.5) * config.vocabSize));
const rowStarts = [0, 12];
const batch: RowBatch = {
  ids,
  rowLengths: Int32Array.from(lengths),
  trained: Uint8Array.from(ids, (_, t) => Number(!rowStarts.includes(t))),
  weights: new Float32Array(21).fill(1),
  advantages: new Float32Array(21),
  oldLogprobs: new Float32Array(21),
  referenceLogprobs: new Float32Array(0),
  returns: Float32Array.from(ids, (_, t) => 0.1 * ((t < 12 ? t : t - 12) - 1)),
};
const uniformWeights = ({ parameters, matrixParameters }: typeof base): Float32Array =>
  uniform(parameters, 1).map((w, i) => (i < matrixParameters ? w : 1 + w));

let root: string;
let golden: Golden;
let sources: { base: WeightsSource; adapter: WeightsSource; scored: WeightsSource };
let adapterTag: string;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'rekindle-peft-'));
  const folder = async (name: string): Promise<string> => {
    await mkdir(join(root, name));
    return join(root, name);
  };
  const [baseFolder, adapterFolder, scoredFolder] = [
    await folder('base'),
    await folder('adapter'),
    await folder('scored'),
  ];
  for (const [at, layout] of [
    [baseFolder, base],
    [scoredFolder, scored],
  ] as const) {
    const file = toHuggingFaceConfig({ decoder: config, bosId: null, eosIds: [] });
    await writeFile(join(at, fileNames.config), jsonFile(file));
    await writeWeights(join(at, fileNames.weights), layout, uniformWeights(layout));
  }
  const form = { settings: adapter, scored: false };
  adapterTag = await writeAdapter(join(adapterFolder, adapterFileNames.weights), base, form, adapterWeights);
  await writeFile(
    join(adapterFolder, adapterFileNames.config),
    adapterConfigFile(adapter, { scored: false, baseModel: baseFolder }),
  );
  sources = {
    base: { tag: 'base', path: join(baseFolder, fileNames.weights) },
    adapter: { tag: adapterTag, path: join(adapterFolder, adapterFileNames.weights) },
    scored: { tag: 'scored', path: join(scoredFolder, fileNames.weights) },
  };
  const python = process.env['REKINDLE_ORACLE_PYTHON'];
  if (python !== undefined) {
    const running = promisify(execFile)(python, [script], { maxBuffer: 1 << 26 });
    const { learningRate: lr, beta1, beta2, epsilon: eps, weightDecay: weight_decay } = adamw;
    const request = {
      base: baseFolder,
      adapter: adapterFolder,
      scored: scoredFolder,
      rows: rowStarts.map((start, row) => [...ids.slice(start, start + lengths[row]!)]),
      adamw: { lr, betas: [beta1, beta2], eps, weight_decay },
    };
    running.child.stdin!.end(JSON.stringify(request));
    await writeFile(goldenPath, (await running).stdout);
  }
  golden = JSON.parse(await readFile(goldenPath, 'utf8')) as Golden;
}, 180_000);
afterAll(() => rm(root, { recursive: true }));

const norm = (values: Float32Array): number => Math.sqrt(values.reduce((sum, x) => sum + x * x, 0));

/** Differences are relative to what the norm and the products could be at most. */
function expectAlike(values: Float32Array, expected: Summary, name: string): void {
  const directions = [1, 2].map((k) => values.map((_, i) => Math.cos(0.1 * k * i + k)));
  const products = directions.map((direction) => values.reduce((sum, x, i) => sum + x * direction[i]!, 0));
  const scales = [1, ...directions.map(norm)];
  [norm(values), ...products].forEach((value, i) => {
    expect(Math.abs(value - expected[i]!) / (expected[0] * scales[i]!), name).toBeLessThan(1e-4);
  });
}

/** Gradients of the last pass, and the changes that a step makes, by their names in a file. */
function expectTrains(trainer: Trainer, expected: Trained): void {
  const { huggingFace } = trainer.plan.trained;
  const piece = (flat: Float32Array, { offset, length }: { offset: number; length: number }): Float32Array =>
    flat.slice(offset, offset + length);
  const gradients = trainer.gradients.slice();
  const before = trainer.weights.slice();
  trainer.optimizerStep(adamw);
  const changes = trainer.weights.map((w, i) => w - before[i]!);
  expect(Object.keys(expected.gradients).sort()).toEqual(huggingFace.map(({ name }) => name).sort());
  for (const slot of huggingFace) {
    expectAlike(piece(gradients, slot), expected.gradients[slot.name]!, `gradient of ${slot.name}`);
    // A weight decay of all parameters, as here in PyTorch, is not what ours does to vectors.
    if (slot.offset < trainer.plan.trained.matrixParameters) {
      expectAlike(piece(changes, slot), expected.updates[slot.name]!, `update of ${slot.name}`);
    }
  }
}

function expectTokens(found: ArrayLike<number>, expected: readonly number[][], digits = 4): void {
  const expectedT = expected.flatMap((row) => [0, ...row]);
  batch.trained.forEach((trained, t) => {
    if (trained === 1) expect(found[t]).toBeCloseTo(expectedT[t]!, digits);
  });
}

describe('our adapter in PEFT', () => {
  it('is the very file that PEFT read', () => {
    expect(golden.adapterFile).toBe(adapterTag);
  });

  it('has the log-probs, merged, loss, gradients and AdamW step that PEFT and PyTorch compute', async () => {
    const engine = new EmbeddedEngine({ config, threads: 1, slots: 2 });
    await engine.load({ ...sources.adapter, base: sources.base });
    expectTokens(await engine.score(adapterTag, batch, 1), golden.ourAdapter.logprobs);

    const trainer = new Trainer(config, { threads: 1, setup: { ...trainEverything, adapter } });
    trainer.beginUpdate(adapterWeights, null, 0, weightTensors(base, uniformWeights(base)));
    const { loss, logprobs } = trainer.forwardBackward(batch, { name: 'cross-entropy' }, 1);
    expect(loss / golden.ourAdapter.loss).toBeCloseTo(1, 5);
    expectTokens(logprobs, golden.ourAdapter.logprobs);
    expectTrains(trainer, golden.ourAdapter);
  });
});

describe('PEFT’s adapter in our engine', () => {
  it('is read with its config, and has the log-probs that PEFT computes', async () => {
    const folder = scratchFolder();
    for (const [name, text] of Object.entries(golden.peftAdapter.files)) {
      await writeFile(join(folder, name), Buffer.from(text, 'base64'));
    }
    const engine = new EmbeddedEngine({ config, threads: 1, slots: 2 });
    const path = join(folder, adapterFileNames.weights);
    await engine.load({ tag: 'peft', path, base: sources.base });
    expectTokens(await engine.score('peft', batch, 1), golden.peftAdapter.logprobs);
  });

  it('begins within the bound that ours begins within', () => {
    expect(golden.peftAdapter.withinBoundOfA).toBe(true);
  });
});

describe.each([
  { head: 'reward', loss: { name: 'reward-pairs' } },
  { head: 'value', loss: { name: 'value-mse' } },
] as const)('a model with a $head head in transformers', ({ head, loss }) => {
  it('has the numbers, loss, gradients and AdamW step that PyTorch computes', async () => {
    const setup = { ...trainEverything, head };
    const targets = Float32Array.of(0.25, 0);
    const check = ({ values }: Pick<ForwardBackwardResult, 'values'>): void => {
      if (head === 'value') expectTokens(values, golden.value.values);
      else values.forEach((reward, row) => expect(reward).toBeCloseTo(golden.reward.rewards[row]!, 4));
    };
    const engine = new EmbeddedEngine({ config, threads: 1, slots: 2, training: setup });
    await engine.load(sources.scored);
    check({ values: await engine.values('scored', batch) });

    const trainer = new Trainer(config, { threads: 1, setup });
    trainer.beginUpdate(uniformWeights(scored), null, 0);
    const result = trainer.forwardBackward({ ...batch, targets }, loss, 1);
    check(result);
    expect(result.loss / golden[head].loss).toBeCloseTo(1, 5);
    expectTrains(trainer, golden[head]);
  });
});
