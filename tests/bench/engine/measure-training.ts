/** Figures of training: the rate of forward and backward pass, the optimizer's time, the memory of the engine's process. */
import { EmbeddedEngine } from '../../../gpu/embedded/engine.ts';
import { EngineClient } from '../../../gpu/embedded/engine-client.ts';
import type { Engine } from '../../../gpu/engine-port.ts';
import { weightsLayout } from '../../../gpu/embedded/weights-layout.ts';
import { medianFigure, type Figure, type FigureName } from './figure.ts';
import { benchModels, decoding, THREADS, type ModelName } from './model-shapes.ts';
import { matrixProductRate, memoryReadRate } from './references.ts';
import { interleaved, median } from './statistics.ts';
import { loss, step, trainingBatch } from './training-batch.ts';
import { writeWeightsFile } from './weights-file.ts';
import { trainingFlops } from './work-counts.ts';

/** Bytes of memory traffic that AdamW cannot do without: w, g, m, v read, w, m, v written. */
const ADAMW_BYTES_PER_PARAMETER = 7 * 4;

/** Forward and backward pass without the optimizer: its flop/s over that of a large matrix product. */
export async function measureTraining(
  figure: FigureName,
  model: ModelName,
  folder: string,
): Promise<Figure[]> {
  const { engine, batch, flops } = await trainingEngine(model, folder);
  const reference = matrixProductRate(THREADS);
  const pass = () => secondsOf(() => engine.forwardBackward(batch, loss, 1));
  const rounds = await interleaved(7, reference.measure, pass);
  const ratios = rounds.map(({ seconds, reference }) => flops / seconds / reference);
  const seconds = median(rounds.map(({ seconds }) => seconds));
  const quantities = {
    secondsPerStep: seconds,
    tokensPerSecond: tokensOf(model) / seconds,
    gflopPerStep: flops / 1e9,
    gflopPerSecond: flops / seconds / 1e9,
    referenceGflopPerSecond: median(rounds.map(({ reference }) => reference)) / 1e9,
  };
  return [medianFigure(figure, ratios, reference.what, quantities)];
}

/** The whole optimizer step, gradient norm and clearing of the gradients included. */
export async function measureOptimizer(model: ModelName, folder: string): Promise<Figure[]> {
  const { engine } = await trainingEngine(model, folder);
  const { config } = benchModels[model];
  const { parameters } = weightsLayout(config);
  const reference = memoryReadRate(THREADS);
  const gradients = trainingBatch(1, 8, config.vocabSize);
  const rounds = await interleaved(9, reference.measure, async () => {
    await engine.forwardBackward(gradients, loss, 1);
    return secondsOf(() => engine.optimizerStep(step));
  });
  const nanoseconds = rounds.map(({ seconds }) => (seconds * 1e9) / parameters);
  const bandwidth = median(rounds.map(({ reference }) => reference));
  return [
    medianFigure('adamwNsPerParam', nanoseconds, `nanoseconds a parameter, ${model}`, {
      parameters,
      secondsPerStep: (median(nanoseconds) * parameters) / 1e9,
      memoryBoundNsPerParam: (ADAMW_BYTES_PER_PARAMETER / bandwidth) * 1e9,
    }),
  ];
}

/** Peak resident memory of an engine's process that trains and does nothing else. */
export async function measureTrainingMemory(
  figure: FigureName,
  model: ModelName,
  folder: string,
): Promise<Figure[]> {
  const { config, trainingRows, trainingPositions } = benchModels[model];
  const source = await writeWeightsFile(folder, config);
  const engine = new EngineClient({ config, threads: THREADS, slots: decoding.sequences });
  const batch = trainingBatch(trainingRows, trainingPositions, config.vocabSize);
  const peaks: number[] = [];
  try {
    await engine.beginUpdate(source, null, 0);
    for (let round = 0; round < 3; round++) {
      await engine.forwardBackward(batch, loss, 1);
      await engine.optimizerStep(step);
      peaks.push((await engine.describe()).peakMemoryBytes / 1e9);
    }
  } finally {
    await engine.close();
  }
  const { parameters } = weightsLayout(config);
  return [
    {
      name: figure,
      value: peaks.at(-1)!,
      against: "GB (10^9 bytes), peak resident memory of the engine's process",
      statistic: `after ${peaks.length} steps`,
      lowest: peaks[0]!,
      highest: peaks.at(-1)!,
      quantities: { weightsGradientsMomentsGB: (4 * 4 * parameters) / 1e9 },
    },
  ];
}

async function trainingEngine(model: ModelName, folder: string) {
  const { config, trainingRows, trainingPositions } = benchModels[model];
  const engine: Engine = new EmbeddedEngine({ config, threads: THREADS, slots: decoding.sequences });
  await engine.beginUpdate(await writeWeightsFile(folder, config), null, 0);
  const { linear, attention } = trainingFlops(config, { rows: trainingRows, positions: trainingPositions });
  const batch = trainingBatch(trainingRows, trainingPositions, config.vocabSize);
  return { engine, batch, flops: linear + attention };
}

function tokensOf(model: ModelName): number {
  const { trainingRows, trainingPositions } = benchModels[model];
  return trainingRows * trainingPositions;
}

async function secondsOf(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return (performance.now() - began) / 1000;
}
