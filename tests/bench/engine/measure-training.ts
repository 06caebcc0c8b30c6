/** Figures of training: the rate of forward and backward pass, the optimizer's time, the memory of the engine's process. */
import { EmbeddedEngine, type EmbeddedEngineSettings } from '../../../gpu/embedded/engine.ts';
import { EngineClient } from '../../../gpu/embedded/engine-client.ts';
import type { Engine } from '../../../gpu/engine-port.ts';
import { weightsLayout } from '../../../gpu/embedded/weights-layout.ts';
import type { DecoderConfig } from '../../../gpu/model/decoder-config.ts';
import { trainEverything } from '../../../gpu/training-setup.ts';
import { medianFigure, type Figure } from '../figure.ts';
import { benchModels, decoding, THREADS, type ModelName } from './model-shapes.ts';
import { matrixProductRate, memoryReadRate } from './references.ts';
import { interleaved, median } from '../statistics.ts';
import { loss, step, trainingBatch } from './training-batch.ts';
import { writeWeightsFile } from './weights-file.ts';
import { trainingFlops } from './work-counts.ts';

/** Memory traffic of AdamW that no order of work spares: g read for its norm; then w, g, m, v read and w, m, v written. */
const ADAMW_BYTES_PER_PARAMETER = 8 * 4;

/** Forward and backward pass without the optimizer: its flop/s over that of a large matrix product. */
export async function measureTraining(figure: string, model: ModelName, folder: string): Promise<Figure[]> {
  const { config, trainingRows: rows, trainingPositions: positions } = benchModels[model];
  const pass = await trainingPass(model, folder);
  const reference = matrixProductRate(THREADS);
  const rounds = await interleaved(5, reference.measure, pass);
  const { linear, attention } = trainingFlops(config, { rows, positions });
  const flops = linear + attention;
  const ratios = rounds.map(({ unit, reference }) => flops / unit / reference);
  const seconds = median(rounds.map(({ unit }) => unit));
  const quantities = {
    secondsPerStep: seconds,
    tokensPerSecond: (rows * positions) / seconds,
    gflopPerStep: flops / 1e9,
    gflopPerSecond: flops / seconds / 1e9,
    referenceGflopPerSecond: median(rounds.map(({ reference }) => reference)) / 1e9,
  };
  return [medianFigure(figure, ratios, `flop/s over ${reference.what}`, quantities)];
}

/** Time of a forward and backward pass with checkpointing over that of one without. */
export async function measureCheckpointing(folder: string): Promise<Figure[]> {
  const plain = await trainingPass('135M', folder);
  const checkpointed = await trainingPass('135M', folder, true);
  await plain();
  const rounds = await interleaved(3, plain, checkpointed);
  const ratios = rounds.map(({ unit, reference }) => unit / reference);
  return [
    medianFigure('checkpointedTimeRatio', ratios, 'time with checkpointing over time without, 135M', {
      checkpointedSeconds: median(rounds.map(({ unit }) => unit)),
      plainSeconds: median(rounds.map(({ reference }) => reference)),
    }),
  ];
}

/** The whole optimizer step, gradient norm and clearing of the gradients included. */
export async function measureOptimizer(model: ModelName, folder: string): Promise<Figure[]> {
  const { config } = benchModels[model];
  const engine = await openEngine(model, folder);
  const { parameters } = weightsLayout(config);
  const reference = memoryReadRate(THREADS);
  const gradients = trainingBatch(1, 8, config.vocabSize);
  const rounds = await interleaved(7, reference.measure, async () => {
    await engine.forwardBackward(gradients, loss, 1);
    return secondsOf(() => engine.optimizerStep(step));
  });
  const nanoseconds = rounds.map(({ unit }) => (unit * 1e9) / parameters);
  const bandwidth = median(rounds.map(({ reference }) => reference));
  return [
    medianFigure('adamwNsPerParam', nanoseconds, `nanoseconds a parameter, ${model}`, {
      parameters,
      secondsPerStep: (median(nanoseconds) * parameters) / 1e9,
      memoryBoundNsPerParam: (ADAMW_BYTES_PER_PARAMETER / bandwidth) * 1e9,
    }),
  ];
}

/**
 * Peak resident memory of an engine's process in forward and backward passes: weights, gradients and activations. The optimizer's
 * moments come on top with the first step; the peak with them is among the quantities.
 */
export async function measureTrainingMemory(
  figure: string,
  folder: string,
  checkpointing: boolean,
): Promise<Figure[]> {
  const { config, trainingRows, trainingPositions } = benchModels['135M'];
  const source = await writeWeightsFile(folder, config);
  const engine = new EngineClient(settingsOf(config, checkpointing));
  const batch = trainingBatch(trainingRows, trainingPositions, config.vocabSize);
  const passes = 3;
  const peakGB = async (): Promise<number> => (await engine.describe()).peakMemoryBytes / 1e9;
  try {
    await engine.beginUpdate(source, null, 0);
    const peaks: number[] = [];
    for (let pass = 0; pass < passes; pass++) {
      await engine.forwardBackward(batch, loss, 1);
      peaks.push(await peakGB());
    }
    await engine.optimizerStep(step);
    await engine.forwardBackward(batch, loss, 1);
    const { parameters } = weightsLayout(config);
    return [
      {
        name: figure,
        value: peaks.at(-1)!,
        against: "GB (10^9 bytes), peak resident memory of the engine's process",
        statistic: `after ${passes} passes`,
        lowest: peaks[0]!,
        highest: peaks.at(-1)!,
        quantities: {
          weightsAndGradientsGB: (2 * 4 * parameters) / 1e9,
          withOptimizerGB: await peakGB(),
        },
      },
    ];
  } finally {
    await engine.close();
  }
}

function settingsOf(config: DecoderConfig, checkpointing: boolean): EmbeddedEngineSettings {
  const training = { ...trainEverything, checkpointing };
  return { config, threads: THREADS, slots: decoding.sequences, training };
}

/** An engine in this process that has begun an update. */
async function openEngine(model: ModelName, folder: string, checkpointing = false): Promise<Engine> {
  const { config } = benchModels[model];
  const engine = new EmbeddedEngine(settingsOf(config, checkpointing));
  await engine.beginUpdate(await writeWeightsFile(folder, config), null, 0);
  return engine;
}

/** Runs a forward and backward pass over the model's batch and returns its seconds. */
async function trainingPass(
  model: ModelName,
  folder: string,
  checkpointing = false,
): Promise<() => Promise<number>> {
  const { config, trainingRows, trainingPositions } = benchModels[model];
  const engine = await openEngine(model, folder, checkpointing);
  const batch = trainingBatch(trainingRows, trainingPositions, config.vocabSize);
  return () => secondsOf(() => engine.forwardBackward(batch, loss, 1));
}

async function secondsOf(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return (performance.now() - began) / 1000;
}
