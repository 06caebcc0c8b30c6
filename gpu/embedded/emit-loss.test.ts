/** Losses as graph nodes against the float64 tape of core/loss, on random tokens. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { evaluateLoss } from '../../core/loss/float64-tape.ts';
import { tokenLoss } from '../../core/loss/index.ts';
import type { TokenLossSettings } from '../../core/loss/settings.ts';
import { Tape } from '../graph/autodiff.ts';
import { Graph } from '../graph/graph.ts';
import { mul } from '../graph/ops.ts';
import { constantRecorder, emittingOps, lossConstantName } from './emit-loss.ts';
import { Session, tensor } from './session.ts';

const inputNames = ['logprobs', 'oldLogprobs', 'referenceLogprobs', 'advantages', 'entropies'] as const;
type Inputs = Record<(typeof inputNames)[number], Float32Array>;

const ppo = (kl: Extract<TokenLossSettings, { name: 'ppo-clip' }>['kl']): TokenLossSettings => ({
  name: 'ppo-clip',
  clipLow: 0.2,
  clipHigh: 0.3,
  kl,
});
const settings: TokenLossSettings[] = [
  { name: 'cross-entropy' },
  ppo(null),
  ppo({ coefficient: 0.1, estimator: 'k1' }),
  ppo({ coefficient: 0.2, estimator: 'k2' }),
  ppo({ coefficient: 0.3, estimator: 'k3' }),
  { name: 'ppo-clip', clipLow: 0.2, clipHigh: 0.3, kl: null, entropyCoefficient: 0.4 },
];

/** Emits the loss once; the returned function evaluates it, with the numbers of any settings of the same form. */
function emittedLoss(form: TokenLossSettings) {
  const graph = new Graph('loss');
  const tape = new Tape();
  const [logprobs, oldLogprobs, referenceLogprobs, advantages, entropies] = inputNames.map((name) =>
    graph.input(name, ['N', 1]),
  );
  tape.variable(logprobs!);
  tape.variable(entropies!);
  const values = {
    logprobs: logprobs!,
    oldLogprobs: oldLogprobs!,
    referenceLogprobs: referenceLogprobs!,
    advantages: advantages!,
    entropies: entropies!,
  };
  const { loss, metrics } = tokenLoss(emittingOps(graph, tape), values, form);
  tape.backward(loss, graph.input('seed', ['N', 1]));
  graph.output('loss', loss);
  graph.output('gradient', tape.gradient(logprobs!)!);
  const zeros = mul(entropies!, 0);
  graph.output('entropyGradient', tape.gradient(entropies!) ?? zeros);
  for (const [name, metric] of Object.entries(metrics)) graph.output(`metric.${name}`, metric);
  const session = new Session(graph, { threads: 1 });

  return (inputs: Inputs, numbers: TokenLossSettings): Record<string, Float32Array> => {
    const shape = [inputs.logprobs.length, 1];
    const recorder = constantRecorder();
    tokenLoss(
      recorder.ops,
      { logprobs: null, oldLogprobs: null, referenceLogprobs: null, advantages: null, entropies: null },
      numbers,
    );
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
      },
      Object.fromEntries(Object.entries(outputs).map(([name, data]) => [name, tensor(data, shape)])),
    );
    return outputs;
  };
}

interface Token {
  logprob: number;
  logRatio: number;
  logReferenceRatio: number;
  advantage: number;
  entropy: number;
}

/** Away from the bounds of the clip, where float32 and float64 may fall on different sides. */
const token: fc.Arbitrary<Token> = fc
  .record({
    logprob: fc.float({ min: -5, max: 0, noNaN: true }),
    logRatio: fc.float({ min: -1, max: 1, noNaN: true }),
    logReferenceRatio: fc.float({ min: -1, max: 1, noNaN: true }),
    advantage: fc.float({ min: -3, max: 3, noNaN: true }),
    entropy: fc.float({ min: 0, max: 5, noNaN: true }),
  })
  .filter(({ logRatio }) =>
    [0.8, 0.9, 1.1, 1.3].every((bound) => Math.abs(Math.exp(logRatio) - bound) > 1e-3),
  );

function inputsOf(tokens: Token[]): Inputs {
  return {
    logprobs: Float32Array.from(tokens, (t) => t.logprob),
    oldLogprobs: Float32Array.from(tokens, (t) => t.logprob - t.logRatio),
    referenceLogprobs: Float32Array.from(tokens, (t) => t.logprob - t.logReferenceRatio),
    advantages: Float32Array.from(tokens, (t) => t.advantage),
    entropies: Float32Array.from(tokens, (t) => t.entropy),
  };
}

function expectEqual(actual: Record<string, Float32Array>, inputs: Inputs, numbers: TokenLossSettings): void {
  const { loss, gradient, entropyGradient, metrics } = evaluateLoss(numbers, inputs);
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
        expectEqual(emitted(inputs, form), inputs, form);
      }),
    );
  });

  it('takes the numbers of other settings without another graph', () => {
    const inputs = inputsOf([
      { logprob: -1, logRatio: 0.2, logReferenceRatio: 0.4, advantage: 1, entropy: 2 },
      { logprob: -2, logRatio: -0.2, logReferenceRatio: -0.4, advantage: -1, entropy: 1 },
    ]);
    const numbers: TokenLossSettings =
      form.name === 'cross-entropy'
        ? form
        : {
            ...form,
            clipLow: 0.1,
            clipHigh: 0.1,
            kl: form.kl && { ...form.kl, coefficient: 0.7 },
            ...(form.entropyCoefficient === undefined ? {} : { entropyCoefficient: 0.1 }),
          };
    expectEqual(emitted(inputs, numbers), inputs, numbers);
  });
});
