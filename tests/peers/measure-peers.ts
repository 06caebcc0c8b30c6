/**
 * The embedded engine against PyTorch, transformers and TRL on the same machine, weights and batch. All sides stay open and take
 * turns; every ratio is of times that lie next to each other.
 */
import { fileURLToPath } from 'node:url';
import type { Bar, BenchResult } from '../bench/bench-result.ts';
import { THREADS, type ModelName } from '../bench/engine/model-shapes.ts';
import { collectFigures, medianFigure, type Figure, type Measurement } from '../bench/figure.ts';
import { median } from '../bench/statistics.ts';
import { withScratchFolder } from '../bench/with-scratch-folder.ts';
import * as ours from './engine-side.ts';
import { peerPython } from './environment.ts';
import { PeerProcess, tunedMalloc } from './peer-process.ts';

export const bars: Record<string, Bar> = {
  lossDifference: { atMost: 1e-4 },
  gradientNormDifference: { atMost: 1e-4 },
  train15MVersusEager: { atLeast: 1 },
  train15MVersusBest: { atLeast: 0.8 },
  train135MVersusEager: { atLeast: 1 },
  train135MVersusBest: { atLeast: 0.8 },
  decode15MVersusGenerate: { atLeast: 4 },
  decode135MVersusGenerate: { atLeast: 2 },
  grpoStepVersusTrl: { atLeast: 3 },
  grpoMemoryOverTrl: { atMost: 0.5 },
};

/** @param only Figures to measure; all when empty. */
export function measurePeers(
  only: readonly string[],
  onProgress: (line: string) => void,
): Promise<BenchResult> {
  const python = peerPython(onProgress);
  return collectFigures(
    { measurements: measurements(python), bars },
    only,
    ({ measure }) => withScratchFolder(measure),
    onProgress,
  );
}

function measurements(python: string): Measurement[] {
  const both: ModelName[] = ['15M', '135M'];
  return [
    {
      name: 'agreement of loss and gradients, 15 M',
      figures: ['lossDifference', 'gradientNormDifference'],
      measure: (folder) => measureAgreement(python, folder),
    },
    ...both.map((model) => ({
      name: `decoding, ${model}`,
      figures: [`decode${model}VersusGenerate`],
      measure: (folder: string) => measureDecoding(python, model, folder),
    })),
    ...both.map((model) => ({
      name: `training, ${model}`,
      figures: [`train${model}VersusEager`, `train${model}VersusBest`],
      measure: (folder: string) => measureTraining(python, model, folder),
    })),
    {
      name: 'GRPO step, 15 M',
      figures: ['grpoStepVersusTrl', 'grpoMemoryOverTrl'],
      measure: (folder) => measureGrpo(python, folder),
    },
  ];
}

/** Relative differences of loss and gradient norm, and the largest of log-probs, for the same weights and batch. */
async function measureAgreement(python: string, folder: string): Promise<Figure[]> {
  const subject = await ours.writeSubject('15M', folder);
  const engine = ours.openEngine('15M');
  const peer = torchPeer(python, subject);
  try {
    const mine = await ours.gradients(engine, subject);
    const theirs = await peer.ask<typeof mine>('gradients');
    const relative = (a: number, b: number) => Math.abs(a - b) / Math.abs(b);
    const logprobs = mine.logprobs.map((logprob, i) => Math.abs(logprob - theirs.logprobs[i]!));
    const against = 'relative difference to PyTorch, same weights and batch';
    return [
      medianFigure('lossDifference', [relative(mine.loss, theirs.loss)], against, {
        loss: mine.loss,
        peerLoss: theirs.loss,
        largestLogprobDifference: Math.max(...logprobs),
      }),
      medianFigure('gradientNormDifference', [relative(mine.gradientNorm, theirs.gradientNorm)], against, {
        gradientNorm: mine.gradientNorm,
        peerGradientNorm: theirs.gradientNorm,
      }),
    ];
  } finally {
    await Promise.all([engine.close(), peer.close()]);
  }
}

/** Forward, backward, clipping and AdamW, against PyTorch as installed and at its best: compiled, with a tuned malloc. */
async function measureTraining(python: string, model: ModelName, folder: string): Promise<Figure[]> {
  const subject = await ours.writeSubject(model, folder);
  const engine = ours.openEngine(model);
  const eager = torchPeer(python, subject);
  const best = torchPeer(python, subject, ['--compile'], tunedMalloc);
  try {
    await engine.beginUpdate(subject.weights, null, 0);
    const rounds = await inTurn(model === '15M' ? 7 : 5, [
      () => ours.trainOnce(engine, subject),
      () => eager.seconds('train'),
      () => best.seconds('train'),
    ]);
    const memory = {
      engineGB: (await engine.describe()).peakMemoryBytes / 1e9,
      eagerGB: (await eager.peakBytes()) / 1e9,
      bestGB: (await best.peakBytes()) / 1e9,
    };
    return [
      ratio(`train${model}VersusEager`, rounds, 1, 'time of a train step in PyTorch over ours', memory),
      ratio(`train${model}VersusBest`, rounds, 2, 'the same with torch.compile and a tuned malloc', {}),
    ];
  } finally {
    await Promise.all([engine.close(), eager.close(), best.close()]);
  }
}

/** Tokens after the first of every sequence: what the prompt costs is taken off on both sides. */
async function measureDecoding(python: string, model: ModelName, folder: string): Promise<Figure[]> {
  const newTokens = 64;
  const subject = await ours.writeSubject(model, folder);
  const engine = ours.openEngine(model);
  const peer = torchPeer(python, subject);
  try {
    await engine.load(subject.weights);
    const rounds = await inTurn(5, [
      async () =>
        (await ours.generateOnce(engine, subject, newTokens)) - (await ours.generateOnce(engine, subject, 1)),
      async () => (await peer.seconds(`generate ${newTokens}`)) - (await peer.seconds('generate 1')),
    ]);
    const against = "time of decoding 16 sequences with transformers' generate over ours";
    return [ratio(`decode${model}VersusGenerate`, rounds, 1, against, {})];
  } finally {
    await Promise.all([engine.close(), peer.close()]);
  }
}

/** A whole step: 8 prompts with 8 samples of 64 tokens each, rewards, one update. */
async function measureGrpo(python: string, folder: string): Promise<Figure[]> {
  const subject = await ours.writeSubject('15M', folder);
  const { promptTokens, newTokens, slots } = ours.grpoStep;
  const engine = ours.openEngine('15M', slots);
  const script = fileURLToPath(new URL('./grpo_peer.py', import.meta.url));
  const args = [script, '--model', folder, '--threads', String(THREADS)];
  args.push('--prompt-tokens', String(promptTokens), '--new-tokens', String(newTokens));
  const peer = new PeerProcess(python, args);
  const tuned = new PeerProcess(python, args, tunedMalloc);
  try {
    const step = ours.grpoSteps(engine, subject);
    const rounds = await inTurn(5, [step, () => peer.seconds('step'), () => tuned.seconds('step')]);
    const engineBytes = (await engine.describe()).peakMemoryBytes;
    const parentBytes = process.resourceUsage().maxRSS * 1024;
    const peerBytes = await peer.peakBytes();
    return [
      ratio('grpoStepVersusTrl', rounds, 1, "time of a step of TRL's GRPOTrainer over ours", {
        tunedSeconds: median(rounds.map((seconds) => seconds[2]!)),
      }),
      medianFigure(
        'grpoMemoryOverTrl',
        [(engineBytes + parentBytes) / peerBytes],
        "peak memory of the engine's process and its parent over that of TRL",
        { engineGB: engineBytes / 1e9, parentGB: parentBytes / 1e9, peerGB: peerBytes / 1e9 },
      ),
    ];
  } finally {
    await Promise.all([engine.close(), peer.close(), tuned.close()]);
  }
}

function torchPeer(
  python: string,
  { folder, input }: ours.Subject,
  args: string[] = [],
  environment: Record<string, string> = {},
): PeerProcess {
  const script = fileURLToPath(new URL('./peer_worker.py', import.meta.url));
  const common = [script, '--model', folder, '--input', input, '--threads', String(THREADS)];
  return new PeerProcess(python, [...common, ...args], environment);
}

/** Seconds of each unit in each round, after two rounds that warm up. */
async function inTurn(rounds: number, units: (() => Promise<number>)[]): Promise<number[][]> {
  const measured: number[][] = [];
  for (let round = 0; round < rounds + 2; round++) {
    const seconds: number[] = [];
    for (const unit of units) seconds.push(await unit());
    measured.push(seconds);
  }
  return measured.slice(2);
}

/** The peer's seconds over ours, round by round. */
function ratio(
  name: string,
  rounds: readonly number[][],
  peer: number,
  against: string,
  quantities: Record<string, number>,
): Figure {
  const of = (unit: number) => median(rounds.map((seconds) => seconds[unit]!));
  const ratios = rounds.map((seconds) => seconds[peer]! / seconds[0]!);
  return medianFigure(name, ratios, against, { seconds: of(0), peerSeconds: of(peer), ...quantities });
}
