/** The embedded engine's side of the comparison with its peers: an engine in its own process, as a worker has it. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { seedAt } from '../../core/seeds.ts';
import { EngineClient } from '../../gpu/embedded/engine-client.ts';
import type { Engine, RowBatch, WeightsSource } from '../../gpu/engine-port.ts';
import type { DecoderConfig } from '../../gpu/model/decoder-config.ts';
import { toHuggingFaceConfig } from '../../gpu/model/huggingface-config.ts';
import { benchModels, THREADS, type ModelName } from '../bench/engine/model-shapes.ts';
import { PolicyLoop } from '../bench/engine/policy-loop.ts';
import { loss, step, trainingBatch } from '../bench/engine/training-batch.ts';
import { writeWeightsFile } from '../bench/engine/weights-file.ts';

/** Sequences generated together, with the length of each prompt. */
const generation = { sequences: 16, promptTokens: 128 };
/** One GRPO step; 32 slots generate its 64 samples faster than 16 or 64. */
export const grpoStep = { groups: 8, groupSize: 8, promptTokens: 16, newTokens: 64, slots: 32 };

/** A model folder that both sides read, and the input of the peer. */
export interface Subject {
  model: ModelName;
  folder: string;
  weights: WeightsSource;
  /** JSON file with the batch and the prompts. */
  input: string;
}

export async function writeSubject(model: ModelName, folder: string): Promise<Subject> {
  const { config } = benchModels[model];
  const weights = await writeWeightsFile(folder, config, 'F32', 'model.safetensors');
  const configJson = toHuggingFaceConfig({ decoder: config, bosId: null, eosIds: [] });
  await writeFile(join(folder, 'config.json'), JSON.stringify(configJson));
  const input = join(folder, 'input.json');
  const given = { training: nestedBatch(model), prompts: promptsOf(config) };
  await writeFile(input, JSON.stringify(given));
  return { model, folder, weights, input };
}

export function openEngine(model: ModelName, slots = generation.sequences): EngineClient {
  const { config } = benchModels[model];
  return new EngineClient({ config, threads: THREADS, slots });
}

/** Seconds of a forward and backward pass and an optimizer step. */
export async function trainOnce(engine: Engine, { model }: Subject): Promise<number> {
  const batch = batchOf(model);
  return secondsOf(async () => {
    await engine.forwardBackward(batch, loss, 1);
    await engine.optimizerStep(step);
  });
}

/** Loss, gradient norm and log-probs of the subject's batch under its weights. */
export async function gradients(
  engine: Engine,
  { model, weights }: Subject,
): Promise<{ loss: number; gradientNorm: number; logprobs: number[] }> {
  const batch = batchOf(model);
  await engine.beginUpdate(weights, null, 0);
  const passed = await engine.forwardBackward(batch, loss, 1);
  const { gradientNorm } = await engine.optimizerStep(step);
  return { loss: passed.loss, gradientNorm, logprobs: Array.from(trainedOf(batch, passed.logprobs)) };
}

/** Seconds of generating `newTokens` for every prompt of the subject. */
export async function generateOnce(
  engine: Engine,
  { model, weights }: Subject,
  newTokens: number,
): Promise<number> {
  const prompts = promptsOf(benchModels[model].config).map((ids, row) => ({
    ids,
    seeds: [seedAt(1, 'rollout', row)],
  }));
  const sampling = { temperature: 1, topK: 0, topP: 1, maxNewTokens: newTokens, stopIds: [] };
  return secondsOf(() => engine.generate({ weights: weights.tag, prompts, sampling }, () => undefined));
}

/** @returns a function that does one GRPO step and returns its seconds. */
export function grpoSteps(engine: Engine, { model, weights, folder }: Subject): () => Promise<number> {
  const { groups, groupSize, promptTokens, newTokens } = grpoStep;
  const { vocabSize } = benchModels[model].config;
  const policy = new PolicyLoop(engine, weights, folder);
  return () => {
    const prompts = Array.from({ length: groups }, (_, group) =>
      promptOf(policy.steps * groups + group, promptTokens, vocabSize),
    );
    return secondsOf(() => policy.iterate({ prompts, groupSize, newTokens }));
  };
}

function batchOf(model: ModelName): RowBatch {
  const { config, trainingRows, trainingPositions } = benchModels[model];
  return trainingBatch(trainingRows, trainingPositions, config.vocabSize);
}

/** The batch as nested arrays: `ids` of whole rows, the rest flat and of the trained tokens only. */
function nestedBatch(model: ModelName): Record<string, number[] | number[][]> {
  const batch = batchOf(model);
  const { trainingRows, trainingPositions } = benchModels[model];
  const length = trainingPositions + 1;
  return {
    ids: Array.from({ length: trainingRows }, (_, row) => [
      ...batch.ids.subarray(row * length, (row + 1) * length),
    ]),
    advantages: [...trainedOf(batch, batch.advantages)],
    oldLogprobs: [...trainedOf(batch, batch.oldLogprobs)],
    weights: [...trainedOf(batch, batch.weights)],
  };
}

function trainedOf(batch: RowBatch, values: Float32Array): Float32Array {
  return values.filter((_, token) => batch.trained[token] === 1);
}

function promptsOf({ vocabSize }: DecoderConfig): number[][] {
  return Array.from({ length: generation.sequences }, (_, row) =>
    promptOf(row, generation.promptTokens, vocabSize),
  );
}

function promptOf(row: number, tokens: number, vocabSize: number): number[] {
  return Array.from({ length: tokens }, (_, t) => (row * 977 + t * 7919) % vocabSize);
}

async function secondsOf(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return (performance.now() - began) / 1000;
}
