/** Figures of generation: decoding against the bandwidth of memory, and the time from a weights file to the first token. */
import { seedAt } from '../../../core/seeds.ts';
import { EmbeddedEngine } from '../../../gpu/embedded/engine.ts';
import { EngineClient } from '../../../gpu/embedded/engine-client.ts';
import type { Engine, GenerationRequest } from '../../../gpu/engine-port.ts';
import type { DecoderConfig } from '../../../gpu/model/decoder-config.ts';
import { medianFigure, type Figure } from '../figure.ts';
import { benchModels, decoding, THREADS, type ModelName } from './model-shapes.ts';
import { memoryReadRate } from './references.ts';
import { nativeRuns } from './session-clock.ts';
import { interleaved, median } from '../statistics.ts';
import { writeWeightsFile } from './weights-file.ts';
import { decodeBytes } from './work-counts.ts';

/**
 * Decoding with all slots busy, sampling included: from the moment when every sequence has a token until the last step. The
 * prompts differ, so nothing of their keys and values can be read once for several.
 */
export async function measureDecoding(figure: string, model: ModelName, folder: string): Promise<Figure[]> {
  const { config } = benchModels[model];
  const { sequences, promptTokens } = decoding;
  const engine = new EmbeddedEngine({ config, threads: THREADS, slots: sequences });
  const source = await writeWeightsFile(folder, config);
  await engine.load(source);
  const reference = memoryReadRate(THREADS);
  const request = generationRequest(source.tag, config, decoding);
  const spans: DecodeSpan[] = [];
  const rounds = await interleaved(7, reference.measure, async () => {
    const span = await decodeSpan(engine, request);
    spans.push(span);
    return (span.ended - span.began) / 1000 / span.steps;
  });
  const { meanGenerated } = spans.at(-1)!;
  const bytes = decodeBytes(config, { sequences, meanLength: promptTokens + meanGenerated });
  const ratios = rounds.map(({ unit, reference }) => bytes / unit / reference);
  const seconds = median(rounds.map(({ unit }) => unit));
  const against = `bytes of weights, keys and values read a second over ${reference.what}`;
  const quantities = {
    millisecondsPerStep: seconds * 1000,
    tokensPerSecond: sequences / seconds,
    megabytesPerStep: bytes / 1e6,
    referenceGigabytesPerSecond: median(rounds.map(({ reference }) => reference)) / 1e9,
  };
  const shares = spans.slice(1).map(({ began, ended, native }) => 1 - native / (ended - began));
  const share = `time outside the runtime over all time of decoding, ${model}`;
  return [medianFigure(figure, ratios, against, quantities), medianFigure('jsShareDecode', shares, share)];
}

/** Steps in which every sequence got one token. Times in milliseconds. */
interface DecodeSpan {
  began: number;
  ended: number;
  /** Time in the runtime's calls. */
  native: number;
  steps: number;
  /** Tokens that a sequence had generated before a step, on average over the steps. */
  meanGenerated: number;
}

async function decodeSpan(engine: Engine, request: GenerationRequest): Promise<DecodeSpan> {
  const generated = request.prompts.map(() => 0);
  const moments: { at: number; fewest: number }[] = [];
  const runs = await nativeRuns(() =>
    engine.generate(
      request,
      () => undefined,
      undefined,
      (deltas) => {
        for (const { prompt, ids } of deltas) generated[prompt]! += ids.length;
        moments.push({ at: performance.now(), fewest: Math.min(...generated) });
      },
    ),
  );
  const first = moments.find(({ fewest }) => fewest > 0)!;
  const last = moments.at(-1)!;
  const inside = runs.filter(({ began, ended }) => began >= first.at && ended <= last.at);
  return {
    began: first.at,
    ended: last.at,
    native: inside.reduce((sum, { began, ended }) => sum + ended - began, 0),
    steps: last.fewest - first.fewest,
    meanGenerated: (first.fewest + last.fewest - 1) / 2,
  };
}

/** From starting an engine's process to its first token, with weights in each format in turn; the slower format counts. */
export async function measureLoading(folder: string): Promise<Figure[]> {
  const { config } = benchModels['135M'];
  const formats = ['F32', 'BF16'] as const;
  const seconds: Record<(typeof formats)[number], number[]> = { F32: [], BF16: [] };
  for (let round = 0; round < 3; round++) {
    for (const format of formats) {
      const source = await writeWeightsFile(folder, config, format);
      const began = performance.now();
      const engine = new EngineClient({ config, threads: THREADS, slots: decoding.sequences });
      try {
        await engine.load(source);
        const { promptTokens } = decoding;
        const request = generationRequest(source.tag, config, { sequences: 1, promptTokens, newTokens: 1 });
        await engine.generate(request, () => undefined);
        seconds[format].push((performance.now() - began) / 1000);
      } finally {
        await engine.close();
      }
    }
  }
  const [f32, bf16] = [median(seconds.F32), median(seconds.BF16)];
  const slower = f32 > bf16 ? seconds.F32 : seconds.BF16;
  return [
    medianFigure(
      'loadSeconds',
      slower,
      `seconds, new process, file in the page cache, prompt of ${decoding.promptTokens} tokens`,
      { f32Seconds: f32, bf16Seconds: bf16 },
    ),
  ];
}

function generationRequest(
  weights: string,
  config: DecoderConfig,
  size: { sequences: number; promptTokens: number; newTokens: number },
): GenerationRequest {
  const { sequences, promptTokens, newTokens } = size;
  const prompts = Array.from({ length: sequences }, (_, sequence) => ({
    ids: Array.from({ length: promptTokens }, (_, t) => (sequence * 977 + t * 7919) % config.vocabSize),
    seeds: [seedAt(1, 'rollout', sequence)],
  }));
  const sampling = { temperature: 1, topK: 0, topP: 1, maxNewTokens: newTokens, stopIds: [] };
  return { weights, prompts, sampling };
}
