/**
 * Rollout, update and swap of weights in a loop, with an engine in its own process and sizes that are drawn anew each time: its memory
 * must stay flat, and no session may be left behind.
 *
 * Warm-up is the first tenth of the time, and at least 50 iterations. From then on the process's resident memory is compared: the
 * median of the last quarter of the samples with that of the first. Every session of the runtime has threads of its own, so the number
 * of threads tells of sessions that were not released.
 */
import { integerAt, seedAt } from '../../core/seeds.ts';
import { EngineClient } from '../../gpu/embedded/engine-client.ts';
import { plainLlama, type DecoderConfig } from '../../gpu/model/decoder-config.ts';
import type { Bar, BenchResult } from '../bench/bench-result.ts';
import { THREADS } from '../bench/engine/model-shapes.ts';
import { PolicyLoop, type Iteration } from '../bench/engine/policy-loop.ts';
import { writeWeightsFile } from '../bench/engine/weights-file.ts';
import { processUsage } from '../bench/peak-memory.ts';
import { withScratchFolder } from '../bench/with-scratch-folder.ts';
import { trend, type Sample } from './trend.ts';

const WARM_UP_SHARE = 0.1;
const WARM_UP_ITERATIONS = 50;

const bars: Record<string, Bar> = {
  memoryGrowth: { atMost: 0.05 },
  threadGrowth: { atMost: 0 },
  heldWeightSets: { atMost: 3 },
};

/** Small, so that an hour holds thousands of iterations; one weight set kept too many would show as 5 MB each. */
const config: DecoderConfig = {
  ...plainLlama,
  vocabSize: 2048,
  hiddenSize: 128,
  layers: 4,
  heads: 4,
  kvHeads: 2,
  headSize: 32,
  feedForwardSize: 384,
  ropeTheta: 10_000,
  normEpsilon: 1e-5,
  maxPositions: 512,
};

export async function measureSoak(minutes: number, onProgress: (line: string) => void): Promise<BenchResult> {
  const engine = new EngineClient({ config, threads: THREADS, slots: 8 });
  try {
    return await withScratchFolder(async (folder) => {
      const weights = await writeWeightsFile(folder, config);
      const policy = new PolicyLoop(engine, weights, folder);
      const samples: Sample[] = [];
      const began = performance.now();
      const elapsedSeconds = (): number => (performance.now() - began) / 1000;
      let reported = 0;
      let warmSamples = Infinity;
      while (elapsedSeconds() < minutes * 60 || samples.length < warmSamples + WARM_UP_ITERATIONS) {
        await policy.iterate(drawIteration(policy.steps));
        samples.push({ seconds: elapsedSeconds(), ...(await processUsage(engine.processId!)) });
        const warm = elapsedSeconds() >= WARM_UP_SHARE * minutes * 60 && samples.length >= WARM_UP_ITERATIONS;
        if (warm && warmSamples === Infinity) warmSamples = samples.length;
        if (elapsedSeconds() - reported < 60) continue;
        reported = elapsedSeconds();
        const { residentMegabytes, threads } = samples.at(-1)!;
        const minute = Math.round(reported / 60);
        onProgress(
          `${minute} min: ${samples.length} iterations, ${Math.round(residentMegabytes)} MB, ${threads} threads`,
        );
      }
      const { held } = await engine.describe();
      return resultOf(samples, warmSamples, held.length);
    });
  } finally {
    await engine.close();
  }
}

/** Sizes of an iteration, a function of its number: 1 to 6 prompts of 2 to 150 tokens, 2 to 8 samples of 4 to 60 tokens. */
function drawIteration(iteration: number): Iteration {
  const seed = seedAt(1, 'generatedTask', iteration);
  const between = (position: number, from: number, to: number): number =>
    from + integerAt(seed, position, to - from + 1);
  const prompts = Array.from({ length: between(0, 1, 6) }, (_, prompt) =>
    Array.from(
      { length: between(3 + prompt, 2, 150) },
      (_, t) => (iteration * 977 + t * 7919) % config.vocabSize,
    ),
  );
  return { prompts, groupSize: between(1, 2, 8), newTokens: between(2, 4, 60) };
}

function resultOf(samples: readonly Sample[], warmSamples: number, heldWeightSets: number): BenchResult {
  const { firstMegabytes, lastMegabytes, megabytesPerHour, threadGrowth } = trend(samples.slice(warmSamples));
  const figures: Record<string, number> = {
    memoryGrowth: lastMegabytes / firstMegabytes - 1,
    threadGrowth,
    heldWeightSets,
    iterations: samples.length,
    warmUpIterations: warmSamples,
    minutes: samples.at(-1)!.seconds / 60,
    firstMegabytes,
    lastMegabytes,
    megabytesPerHour,
    threads: samples.at(-1)!.threads,
  };
  const missed = Object.entries(bars).filter(([name, bar]) => 'atMost' in bar && figures[name]! > bar.atMost);
  const failure = missed.map(([name]) => `${name} is ${figures[name]}`).join(', ');
  return { figures, bars, notes: [], ...(failure ? { failure } : {}) };
}
