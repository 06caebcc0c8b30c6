/** The embedded engine's side of the comparison with its peers: an engine in its own process, as a worker has it. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { grpo } from '../../core/advantage/grpo.ts';
import { seedAt } from '../../core/seeds.ts';
import { EngineClient } from '../../gpu/embedded/engine-client.ts';
import type { Completion, Engine, RowBatch, WeightsSource } from '../../gpu/engine-port.ts';
import type { DecoderConfig } from '../../gpu/model/decoder-config.ts';
import { toHuggingFaceConfig } from '../../gpu/model/huggingface-config.ts';
import { benchModels, THREADS, type ModelName } from '../bench/engine/model-shapes.ts';
import { loss, step, trainingBatch } from '../bench/engine/training-batch.ts';
import { writeWeightsFile } from '../bench/engine/weights-file.ts';

/** Sequences generated together, with the length of each prompt. */
const generation = { sequences: 16, promptTokens: 128 };
/** One GRPO step. */
export const grpoStep = { groups: 8, groupSize: 8, promptTokens: 16, newTokens: 64 };

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

export function openEngine(model: ModelName): EngineClient {
  const { config } = benchModels[model];
  return new EngineClient({ config, threads: THREADS, slots: generation.sequences });
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

/**
 * GRPO as a run does it: every step writes its weights and optimizer state to files and the next one starts from them.
 * @returns a function that does one step and returns its seconds.
 */
export function grpoSteps(engine: Engine, subject: Subject): () => Promise<number> {
  const { groups, groupSize, promptTokens, newTokens } = grpoStep;
  const { vocabSize } = benchModels[subject.model].config;
  let weights = subject.weights;
  let optimizer: WeightsSource | null = null;
  let steps = 0;
  return () =>
    secondsOf(async () => {
      await engine.load(weights);
      const prompts = Array.from({ length: groups }, (_, group) => ({
        ids: promptOf(steps * groups + group, promptTokens, vocabSize),
        seeds: Array.from({ length: groupSize }, (_, sample) => seedAt(1, 'rollout', steps, group, sample)),
      }));
      const sampling = { temperature: 1, topK: 0, topP: 1, maxNewTokens: newTokens, stopIds: [] };
      const completions: Completion[] = [];
      await engine.generate({ weights: weights.tag, prompts, sampling }, (more) => completions.push(...more));
      await engine.beginUpdate(weights, optimizer, steps);
      const batch = rowsOf(
        completions,
        prompts.map(({ ids }) => ids),
      );
      await engine.forwardBackward(batch, loss, 1);
      await engine.optimizerStep(step);
      const saved = await engine.save(join(subject.folder, `step-${steps++ % 2}`));
      weights = { tag: saved.weightsTag, path: saved.weightsPath };
      optimizer = { tag: saved.weightsTag, path: saved.optimizerPath };
    });
}

/** Rows of prompt and completion; the reward, the mean token id, differs from sample to sample. */
function rowsOf(completions: readonly Completion[], promptIds: readonly (readonly number[])[]): RowBatch {
  const advantages = promptIds.map((_, prompt) => {
    const group = completions.filter((completion) => completion.prompt === prompt);
    const rewards = group.map(({ ids }) => ids.reduce((sum, id) => sum + id, 0) / ids.length);
    return new Map(grpo(rewards, 1e-4).map((advantage, i) => [group[i]!, advantage]));
  });
  const trainedTokens = completions.reduce((sum, { ids }) => sum + ids.length, 0);
  const rows = completions.map((completion) => {
    const prompt = promptIds[completion.prompt]!;
    const constant = (value: number): number[] => new Array<number>(completion.ids.length).fill(value);
    const padding = new Array<number>(prompt.length).fill(0);
    const advantage = advantages[completion.prompt]!.get(completion)!;
    return {
      ids: [...prompt, ...completion.ids],
      trained: [...padding, ...constant(1)],
      weights: [...padding, ...constant(1 / trainedTokens)],
      advantages: [...padding, ...constant(advantage)],
      oldLogprobs: [...padding, ...completion.logprobs],
    };
  });
  return {
    ids: Int32Array.from(rows.flatMap(({ ids }) => ids)),
    rowLengths: Int32Array.from(rows, ({ ids }) => ids.length),
    trained: Uint8Array.from(rows.flatMap(({ trained }) => trained)),
    weights: Float32Array.from(rows.flatMap(({ weights }) => weights)),
    advantages: Float32Array.from(rows.flatMap(({ advantages }) => advantages)),
    oldLogprobs: Float32Array.from(rows.flatMap(({ oldLogprobs }) => oldLogprobs)),
    referenceLogprobs: new Float32Array(0),
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
