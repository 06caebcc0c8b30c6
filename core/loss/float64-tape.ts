/**
 * Evaluates a token loss in 64-bit floats with its gradient: the reference for engines that emit the loss into a graph, and
 * the linearisation for trainers that take d loss / d log-prob. Reverse mode: each operation appends its backward step.
 */
import { tokenLoss } from './index.ts';
import type { LossInputs, LossOps } from './ops.ts';
import type { TokenLossSettings } from './settings.ts';

/** Arrays of length T, one entry a trained token. */
export interface EvaluatedLoss {
  loss: Float64Array;
  /** d (weighted sum of losses) / d logprobs[t]. */
  gradient: Float64Array;
  /** d (weighted sum of losses) / d entropies[t]. */
  entropyGradient: Float64Array;
  metrics: Record<string, Float64Array>;
}

type OptionalInput = 'entropies' | 'importance' | 'chosen';
export type TokenInputs = Omit<LossInputs<ArrayLike<number>>, OptionalInput> &
  Partial<Pick<LossInputs<ArrayLike<number>>, OptionalInput>>;

/**
 * The loss of the T trained tokens of R rows from their log-probs, advantages and so on (each of length T, row after row).
 * `tokenCountsR`: trained tokens of each row; one row of all tokens when it is not given. Gradients are those of the sum of all
 * losses, each times its weight (1 when not given).
 */
export function evaluateLoss(
  settings: TokenLossSettings,
  inputsT: TokenInputs,
  tokenCountsR: readonly number[] = [inputsT.logprobs.length],
  weightsT?: ArrayLike<number>,
): EvaluatedLoss {
  const tape = new Float64Tape(tokenCountsR);
  const none = new Float64Array(inputsT.logprobs.length);
  const inputs = {
    logprobs: tape.input(inputsT.logprobs),
    oldLogprobs: tape.input(inputsT.oldLogprobs),
    referenceLogprobs: tape.input(inputsT.referenceLogprobs),
    advantages: tape.input(inputsT.advantages),
    entropies: tape.input(inputsT.entropies ?? none),
    importance: tape.input(inputsT.importance ?? none.map(() => 1)),
    chosen: tape.input(inputsT.chosen ?? none),
  };
  const { loss, metrics } = tokenLoss(tape, inputs, settings);
  tape.backward(loss, weightsT);
  return {
    loss: loss.values,
    gradient: inputs.logprobs.gradients,
    entropyGradient: inputs.entropies.gradients,
    metrics: Object.fromEntries(Object.entries(metrics).map(([name, metric]) => [name, metric.values])),
  };
}

/** A value of each of T tokens, and d loss / d value once `backward` has run. */
export interface TapeValue {
  values: Float64Array;
  gradients: Float64Array;
}

type Function1 = (x: number) => number;
type Function2 = (x: number, y: number) => number;
const zero = () => 0;
const one = () => 1;

export class Float64Tape implements LossOps<TapeValue> {
  readonly #tokens: number;
  readonly #tokenCountsR: readonly number[];
  readonly #backwardSteps: (() => void)[] = [];

  /** `tokenCountsR`: trained tokens of each row, of which the values hold one after the other. */
  constructor(tokenCountsR: readonly number[]) {
    this.#tokenCountsR = tokenCountsR;
    this.#tokens = tokenCountsR.reduce((sum, count) => sum + count, 0);
  }

  input(values: ArrayLike<number>): TapeValue {
    return { values: Float64Array.from(values), gradients: new Float64Array(this.#tokens) };
  }

  /** Fills in the gradients of the sum over tokens of `loss`, each times its weight (1 when not given). */
  backward(loss: TapeValue, weightsT: ArrayLike<number> = new Float64Array(this.#tokens).fill(1)): void {
    loss.gradients.set(weightsT);
    for (const step of this.#backwardSteps.toReversed()) step();
  }

  constant(value: number): TapeValue {
    return this.input(new Float64Array(this.#tokens).fill(value));
  }

  add(a: TapeValue, b: TapeValue): TapeValue {
    return this.#binary(a, b, (x, y) => x + y, one, one);
  }

  sub(a: TapeValue, b: TapeValue): TapeValue {
    return this.#binary(
      a,
      b,
      (x, y) => x - y,
      one,
      () => -1,
    );
  }

  mul(a: TapeValue, b: TapeValue): TapeValue {
    const otherFactor: Function2 = (_, y) => y;
    const firstFactor: Function2 = (x) => x;
    return this.#binary(a, b, (x, y) => x * y, otherFactor, firstFactor);
  }

  neg(a: TapeValue): TapeValue {
    return this.#unary(
      a,
      (x) => -x,
      () => -1,
    );
  }

  exp(a: TapeValue): TapeValue {
    return this.#unary(a, Math.exp, Math.exp);
  }

  log(a: TapeValue): TapeValue {
    return this.#unary(a, Math.log, (x) => 1 / x);
  }

  minimum(a: TapeValue, b: TapeValue): TapeValue {
    return this.#binary(
      a,
      b,
      Math.min,
      (x, y) => Number(x <= y),
      (x, y) => Number(x > y),
    );
  }

  maximum(a: TapeValue, b: TapeValue): TapeValue {
    return this.#binary(
      a,
      b,
      Math.max,
      (x, y) => Number(x >= y),
      (x, y) => Number(x < y),
    );
  }

  clamp(a: TapeValue, low: number, high: number): TapeValue {
    return this.#unary(
      a,
      (x) => Math.min(Math.max(x, low), high),
      (x) => Number(x >= low && x <= high),
    );
  }

  stopGradient(a: TapeValue): TapeValue {
    return this.input(a.values);
  }

  greaterThan(a: TapeValue, b: TapeValue): TapeValue {
    return this.#binary(a, b, (x, y) => Number(x > y), zero, zero);
  }

  rowMean(a: TapeValue): TapeValue {
    const result = this.input(this.#rowMeans(a.values));
    this.#backwardSteps.push(() => {
      this.#rowMeans(result.gradients).forEach((gradient, t) => (a.gradients[t]! += gradient));
    });
    return result;
  }

  /** At each token the mean over its row. Its own transpose, so it takes gradients back too. */
  #rowMeans(valuesT: Float64Array): Float64Array {
    const meansT = new Float64Array(this.#tokens);
    let start = 0;
    for (const count of this.#tokenCountsR) {
      const end = start + count;
      meansT.fill(valuesT.subarray(start, end).reduce((sum, value) => sum + value, 0) / count, start, end);
      start = end;
    }
    return meansT;
  }

  #unary(a: TapeValue, value: Function1, derivative: Function1): TapeValue {
    const result = this.input(a.values.map(value));
    this.#backwardSteps.push(() => {
      for (let t = 0; t < this.#tokens; t++) {
        a.gradients[t]! += result.gradients[t]! * derivative(a.values[t]!);
      }
    });
    return result;
  }

  #binary(
    a: TapeValue,
    b: TapeValue,
    value: Function2,
    derivativeA: Function2,
    derivativeB: Function2,
  ): TapeValue {
    const result = this.input(a.values.map((x, t) => value(x, b.values[t]!)));
    this.#backwardSteps.push(() => {
      for (let t = 0; t < this.#tokens; t++) {
        const upstream = result.gradients[t]!;
        a.gradients[t]! += upstream * derivativeA(a.values[t]!, b.values[t]!);
        b.gradients[t]! += upstream * derivativeB(a.values[t]!, b.values[t]!);
      }
    });
    return result;
  }
}
