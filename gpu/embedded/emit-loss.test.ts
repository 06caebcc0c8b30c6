/** Losses as graph nodes against the float64 tape of core/loss, on random tokens. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { evaluateLoss } from '../../core/loss/float64-tape.ts';
import { tokenLoss } from '../../core/loss/index.ts';
import type { LossInputs } from '../../core/loss/ops.ts';
import type { TokenLossSettings } from '../../core/loss/settings.ts';
import { klEstimatorNames } from '../../core/algorithm.ts';
import { Tape } from '../graph/autodiff.ts';
import { Graph, type Value } from '../graph/graph.ts';
import { mul } from '../graph/ops.ts';
import { constantRecorder, emittingOps, lossConstantName } from './emit-loss.ts';
import { rowFeeds } from './row-feeds.ts';
import type { PackedRows } from './row-packing.ts';
import { Session, tensor } from './session.ts';

const inputNames = [
  'logprobs',
  'oldLogprobs',
  'referenceLogprobs',
  'advantages',
  'entropies',
  'importance',
  'chosen',
] as const;
type Inputs = Record<(typeof inputNames)[number], Float32Array>;

const clip = { clipLow: 0.2, clipHigh: 0.3, kl: null };
const settings: TokenLossSettings[] = [
  { name: 'cross-entropy' },
  ...klEstimatorNames.map((estimator): TokenLossSettings => ({
    name: 'ppo-clip',
    ...clip,
    kl: { coefficient: 0.3, estimator },
  })),
  { name: 'ppo-clip', ...clip, entropyCoefficient: 0.4 },
  { name: 'ppo-clip', ...clip, dualClip: 1.2, corrected: true },
  { name: 'gspo', ...clip },
  { name: 'gspo-token', ...clip },
  { name: 'gmpo', ...clip },
  { name: 'cispo', ...clip },
  { name: 'cpgd', ...clip },
  { name: 'sapo', tauPositive: 1, tauNegative: 1.05, kl: null },
  { name: 'reinforce', kl: null },
  { name: 'importance-sampling', kl: null, corrected: true },
  { name: 'dppo-tv', ...clip, clipLow: 0.1, truncation: 1.5 },
  { name: 'dppo-kl', clipLow: 0.05, clipHigh: 0.1, truncation: 20, kl: null },
  { name: 'dro', beta: 0.5, kl: null },
  { name: 'clip-cov', ...clip },
  { name: 'kl-cov', coefficient: 0.7, kl: null },
];

/** Two rows, of which the first holds a third of the tokens (at least one). */
const tokenCountsOf = (tokens: number): number[] => {
  const first = Math.max(1, Math.floor(tokens / 3));
  return first === tokens ? [tokens] : [first, tokens - first];
};

/** Emits the loss once; the returned function evaluates it, with the numbers of any settings of the same form. */
function emittedLoss(form: TokenLossSettings) {
  const graph = new Graph('loss');
  const tape = new Tape();
  const values = Object.fromEntries(
    inputNames.map((name) => [name, graph.input(name, ['N', 1])]),
  ) as unknown as LossInputs<Value>;
  const { logprobs, entropies } = values;
  tape.variable(logprobs);
  tape.variable(entropies);
  const { loss, metrics } = tokenLoss(emittingOps(graph, tape), values, form);
  tape.backward(loss, graph.input('seed', ['N', 1]));
  graph.output('loss', loss);
  graph.output('gradient', tape.gradient(logprobs)!);
  const zeros = mul(entropies, 0);
  graph.output('entropyGradient', tape.gradient(entropies) ?? zeros);
  for (const [name, metric] of Object.entries(metrics)) graph.output(`metric.${name}`, metric);
  const session = new Session(graph, { threads: 1 });
  const known = new Set(graph.inputs.map(({ name }) => name));

  return (inputs: Inputs, numbers: TokenLossSettings): Record<string, Float32Array> => {
    const shape = [inputs.logprobs.length, 1];
    const recorder = constantRecorder();
    const nothing = Object.fromEntries(inputNames.map((name) => [name, null]));
    tokenLoss(recorder.ops, nothing as unknown as LossInputs<null>, numbers);
    const outputs = Object.fromEntries(
      ['loss', 'gradient', 'entropyGradient', ...Object.keys(metrics).map((name) => `metric.${name}`)].map(
        (name) => [name, new Float32Array(shape[0]!)],
      ),
    );
    session.run(
      {
        ...Object.fromEntries(inputNames.map((name) => [name, tensor(inputs[name], shape)])),
        ...Object.fromEntries(
          recorder.constants.map((value, i) => [lossConstantName(i), tensor(Float32Array.of(value), [])]),
        ),
        seed: tensor(new Float32Array(shape[0]!).fill(1), shape),
        ...Object.fromEntries(
          Object.entries(rowFeeds(rowsOf(shape[0]!))).filter(([name]) => known.has(name)),
        ),
      },
      Object.fromEntries(Object.entries(outputs).map(([name, data]) => [name, tensor(data, shape)])),
    );
    return outputs;
  };
}

/** As a rectangle of rows, every position of which is trained. */
function rowsOf(tokens: number): PackedRows {
  const counts = tokenCountsOf(tokens);
  const positions = Math.max(...counts);
  const selected = counts.flatMap((count, row) =>
    Array.from({ length: count }, (_, t) => row * positions + t),
  );
  const unused = new Int32Array(0);
  return {
    rows: counts.length,
    positions,
    selected: Int32Array.from(selected),
    ids: unused,
    targets: unused,
    sources: unused,
  };
}

interface Token {
  logprob: number;
  logRatio: number;
  logReferenceRatio: number;
  advantage: number;
  entropy: number;
  importance: number;
  chosen: boolean;
}

/** Numbers spread evenly, and none that lies on a bound, where float32 and float64 need not agree. */
const between = (min: number, max: number): fc.Arbitrary<number> =>
  fc
    .noBias(fc.integer({ min: min * 1000, max: max * 1000 }))
    .map((thousandths) => (thousandths - 0.37) / 1000);
const token: fc.Arbitrary<Token> = fc.record({
  logprob: between(-5, -0.01),
  logRatio: between(-1, 1),
  logReferenceRatio: between(-1, 1),
  advantage: between(-3, 3),
  entropy: between(0, 5),
  importance: between(0, 2),
  chosen: fc.boolean(),
});

/** Whether no bound is so near that float32 and float64 may fall on different sides of it. */
function isSmoothAt(inputs: Inputs, numbers: TokenLossSettings): boolean {
  const near = [-1e-4, 1e-4].map((step) =>
    evaluateLoss(
      numbers,
      { ...inputs, logprobs: inputs.logprobs.map((logprob) => logprob + step) },
      tokenCountsOf(inputs.logprobs.length),
    ),
  );
  const [below, above] = near.map(({ gradient, metrics }) => [gradient, ...Object.values(metrics)]);
  const ties = inputs.advantages.some((advantage) => Math.abs(advantage) < 1e-4);
  return (
    !ties && below!.every((values, i) => values.every((value, t) => Math.abs(value - above![i]![t]!) < 1e-2))
  );
}

function inputsOf(tokens: Token[]): Inputs {
  return {
    logprobs: Float32Array.from(tokens, (t) => t.logprob),
    oldLogprobs: Float32Array.from(tokens, (t) => t.logprob - t.logRatio),
    referenceLogprobs: Float32Array.from(tokens, (t) => t.logprob - t.logReferenceRatio),
    advantages: Float32Array.from(tokens, (t) => t.advantage),
    entropies: Float32Array.from(tokens, (t) => t.entropy),
    importance: Float32Array.from(tokens, (t) => t.importance),
    chosen: Float32Array.from(tokens, (t) => Number(t.chosen)),
  };
}

function expectEqual(actual: Record<string, Float32Array>, inputs: Inputs, numbers: TokenLossSettings): void {
  const { loss, gradient, entropyGradient, metrics } = evaluateLoss(
    numbers,
    inputs,
    tokenCountsOf(inputs.logprobs.length),
  );
  const expected: Record<string, Float64Array> = { loss, gradient, entropyGradient };
  for (const [name, values] of Object.entries(metrics)) expected[`metric.${name}`] = values;
  expect(Object.keys(actual).sort()).toEqual(Object.keys(expected).sort());
  for (const [name, values] of Object.entries(expected)) {
    values.forEach((value, i) => expect(actual[name]![i]).toBeCloseTo(value, 4));
  }
}

describe.each(settings.map((form) => ({ label: JSON.stringify(form), form })))('$label', ({ form }) => {
  const emitted = emittedLoss(form);

  it('gives the loss, gradient and metrics of the float64 tape', () => {
    fc.assert(
      fc.property(fc.array(token, { minLength: 1, maxLength: 20 }), (tokens) => {
        const inputs = inputsOf(tokens);
        fc.pre(isSmoothAt(inputs, form));
        expectEqual(emitted(inputs, form), inputs, form);
      }),
      { numRuns: 30 },
    );
  });

  it('takes the numbers of other settings without another graph', () => {
    const others = { entropy: 2, importance: 0.5, chosen: true };
    const inputs = inputsOf([
      { ...{ logprob: -1, logRatio: 0.2, logReferenceRatio: 0.4, advantage: 1 }, ...others },
      { ...{ logprob: -2, logRatio: -0.2, logReferenceRatio: -0.4, advantage: -1 }, ...others },
    ]);
    const halved = Object.entries(form).map(([key, value]: [string, unknown]): [string, unknown] => [
      key,
      typeof value === 'number' ? value / 2 : value,
    ]);
    const numbers = Object.fromEntries(halved) as TokenLossSettings;
    if ('kl' in numbers && numbers.kl !== null) numbers.kl = { ...numbers.kl, coefficient: 0.7 };
    expectEqual(emitted(inputs, numbers), inputs, numbers);
  });
});
