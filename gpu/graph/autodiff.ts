/**
 * Reverse-mode differentiation while a graph is built. Each differentiable operator records a function that, given the gradients
 * of its outputs, adds nodes for the gradients of its inputs; `backward` calls them in reverse order.
 *
 * Only tracked values get gradients: variables, and what is computed from them.
 */
import type { Value } from './graph.ts';
import { add, reshape, slice, where } from './ops.ts';

export class Tape {
  #entries: (() => void)[] = [];
  readonly #gradients = new Map<Value, Value>();
  readonly #tracked = new Set<Value>();
  /** Parameters with their gradients from before. */
  readonly #parameters = new Map<Value, Value>();
  readonly #ordered = new Set<Value>();

  /** Makes `value` a variable: its gradient will be known after `backward`. */
  variable(value: Value): void {
    this.#tracked.add(value);
  }

  /** Makes `value` a variable whose gradient is added to `accumulated`. */
  parameter(value: Value, accumulated: Value): void {
    this.variable(value);
    this.#parameters.set(value, accumulated);
    this.#gradients.set(value, accumulated);
  }

  tracks(value: Value): boolean {
    return this.#tracked.has(value);
  }

  /** The gradient gathered so far. */
  gradient(value: Value): Value | undefined {
    return this.#gradients.get(value);
  }

  /** Replaces the gradient gathered so far, by an operator that has already added it in. */
  setGradient(value: Value, gradient: Value): void {
    this.#gradients.set(value, gradient);
  }

  /** Adds to the gradient of a tracked value; does nothing for others. */
  accumulate(value: Value, gradient: Value): void {
    if (!this.tracks(value)) return;
    const previous = this.#gradients.get(value);
    this.#gradients.set(value, previous ? add(previous, gradient) : gradient);
  }

  /** Records an operator with one output. `backward` is called only if a gradient reaches the output. */
  record(output: Value, backward: (gradient: Value) => void): Value {
    this.#tracked.add(output);
    this.#entries.push(() => {
      const gradient = this.#gradients.get(output);
      if (gradient) backward(gradient);
    });
    return output;
  }

  /** Records an operator with several outputs; every one must receive a gradient. */
  recordAll(outputs: readonly Value[], backward: (gradients: Value[]) => void): void {
    for (const output of outputs) this.#tracked.add(output);
    this.#entries.push(() => {
      const gradients = outputs.map((output) => this.#gradients.get(output));
      if (gradients.every((gradient) => gradient !== undefined)) backward(gradients);
    });
  }

  /**
   * Makes the backward pass through `x` wait for all parameter gradients that are computed before it. The runtime would
   * otherwise leave those to the very end and keep every activation alive until then.
   * `never` is a bool scalar, false in every run, which the runtime cannot know.
   */
  orderBackward(x: Value, never: Value): void {
    this.#entries.push(() => {
      const gradient = this.#gradients.get(x);
      const finished: Value[] = [];
      for (const [parameter, start] of this.#parameters) {
        const current = this.#gradients.get(parameter)!;
        if (current !== start && !this.#ordered.has(current)) finished.push(current);
      }
      if (!gradient || finished.length === 0) return;
      for (const value of finished) this.#ordered.add(value);
      this.#gradients.set(x, add(gradient, zeroAfter(finished, never)));
    });
  }

  /**
   * y = compute(x), whose inner values are not kept for the backward pass but computed again there (Chen et al. 2016, "Training
   * deep nets with sublinear memory cost"). The second computation starts from a copy of x that is made when the gradient of y is
   * known: the runtime would merge it with the first, or do it at once, if it could.
   */
  checkpoint(x: Value, never: Value, compute: (x: Value) => Value): Value {
    const [output] = this.#recorded(() => compute(x));
    return this.record(output, (gradient) => {
      const copy = add(x, zeroAfter([gradient], never));
      this.variable(copy);
      const [again, entries] = this.#recorded(() => compute(copy));
      this.accumulate(again, gradient);
      runBackward(entries);
      const inputGradient = this.#gradients.get(copy);
      if (inputGradient) this.accumulate(x, inputGradient);
    });
  }

  /** Adds the whole backward pass, starting from d target / d output = `seed`. */
  backward(output: Value, seed: Value): void {
    this.accumulate(output, seed);
    runBackward(this.#entries);
  }

  /** The result of `compute` and the backward steps that it recorded, which are taken off the tape. */
  #recorded(compute: () => Value): [Value, (() => void)[]] {
    const outer = this.#entries;
    this.#entries = [];
    const result = compute();
    const recorded = this.#entries;
    this.#entries = outer;
    return [result, recorded];
  }
}

function runBackward(entries: readonly (() => void)[]): void {
  for (const entry of entries.toReversed()) entry();
}

/** A zero that can only be computed when all `values` have been. */
function zeroAfter(values: readonly Value[], never: Value): Value {
  const { graph } = never;
  const elements = values.map((value) => {
    let element = value;
    value.shape.forEach((_, axis) => (element = slice(element, axis, 0, 1)));
    return reshape(element, [1], [1]);
  });
  const sum = graph.node('Sum', elements, [{ shape: [1] }])[0]!;
  return where(never, sum, graph.scalar(0));
}
