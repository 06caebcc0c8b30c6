/**
 * The two passes of AdamW over memory, as WebAssembly of 128-bit vectors: the processor reads and writes each element once for all
 * of the step's arithmetic. One element after the other on one thread, so the result has the same bits everywhere.
 *
 * Elements that come very near to zero are set to zero: processors take a hundred times as long over subnormal numbers, and
 * the moments of a parameter that gets no gradient any more would soon be such.
 */
import { factorNames, type UpdateFactors } from './adamw-factors.ts';
import { encodeKernelModule, f32, f32x4, f64, f64x2, i32, KernelFunction, v128 } from './wasm-assembler.ts';
import { WebAssembly, type Code, type Memory, type Variable } from './wasm-assembler.ts';

const VECTOR_BYTES = 16;
/** Parts of a slice that are read side by side: the processor then fetches ahead in each of them. */
const STREAMS = 4;
const SMALLEST_MOMENT = 2 ** -110;
/** Squares of smaller numbers are below the smallest moment. */
const SMALLEST_SQUARED = 2 ** -55;

/** Byte addresses in the kernel's memory. */
export interface Addresses {
  w: number;
  g: number;
  m: number;
  v: number;
}

export interface AdamWKernel {
  /** Updates w, m and v and clears g. Tells whether every new w is finite. `count` is a positive multiple of 4. */
  update(addresses: Addresses, count: number, factors: UpdateFactors): boolean;
  /** The sum of squares, in double. `count` is a positive multiple of 8. */
  sumOfSquares(address: number, count: number): number;
}

export function adamWKernel(memory: Memory): AdamWKernel {
  const bytes = encodeKernelModule([updateFunction(), sumOfSquaresFunction()]);
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), { kernel: { memory } });
  const { update, sumOfSquares } = exports;
  return {
    update: ({ w, g, m, v }, count, factors) =>
      update!(w, g, m, v, w + 4 * count, ...factorNames.map((name) => factors[name])) === 0,
    sumOfSquares: (address, count) => sumOfSquares!(address, (4 * count) / STREAMS),
  };
}

const advance = (pointer: Variable, bytes: number): Code =>
  pointer.set(i32.add(pointer.get, i32.constant(bytes)));

function updateFunction(): KernelFunction {
  const { add, sub, mul, div, sqrt, abs, less, splat } = f32x4;
  const { load, store, or, andNot } = v128;
  const f = new KernelFunction('update', 'i32');
  const { w, g, m, v, end } = f.parameters('i32', ['w', 'g', 'm', 'v', 'end']);
  const scalars = f.parameters('f32', factorNames);
  const factors = f.locals('v128', factorNames);
  for (const name of factorNames) f.append(factors[name].set(splat(scalars[name].get)));
  const limits = f.locals('v128', ['moment', 'squared']);
  f.append(limits.moment.set(splat(f32.constant(SMALLEST_MOMENT))));
  f.append(limits.squared.set(splat(f32.constant(SMALLEST_SQUARED))));
  const { gradient, newM, newV, newW, x, nonFinite } = f.locals('v128', [
    'gradient',
    'newM',
    'newV',
    'newW',
    'x',
    'nonFinite',
  ]);
  const { beta1, gradientToM, beta2, gradientToRootV, rate, epsilon, keep } = factors;
  /** Zero where the magnitude is below the limit; NaN stays. */
  const flushed = (value: Code, limit: Variable): Code => andNot(x.tee(value), less(abs(x.get), limit.get));
  const squared = (value: Code): Code => mul(x.tee(value), x.get);

  f.repeatWhile(
    i32.lessUnsigned(w.get, end.get),
    gradient.set(load(g.get)),
    store(g.get, v128.zero),
    newM.set(flushed(add(mul(load(m.get), beta1.get), mul(gradient.get, gradientToM.get)), limits.moment)),
    store(m.get, newM.get),
    gradient.set(flushed(mul(gradient.get, gradientToRootV.get), limits.squared)),
    newV.set(flushed(add(mul(load(v.get), beta2.get), squared(gradient.get)), limits.moment)),
    store(v.get, newV.get),
    newW.set(sub(mul(load(w.get), keep.get), div(mul(newM.get, rate.get), add(sqrt(newV.get), epsilon.get)))),
    store(w.get, newW.get),
    // y - y is 0 for a finite y, else NaN.
    nonFinite.set(or(nonFinite.get, sub(newW.get, newW.get))),
    ...[w, g, m, v].map((pointer) => advance(pointer, VECTOR_BYTES)),
  );
  f.append(v128.anyTrue(nonFinite.get));
  return f;
}

function sumOfSquaresFunction(): KernelFunction {
  const { add, mul, promoteLow, lane } = f64x2;
  const f = new KernelFunction('sumOfSquares', 'f64');
  const { start, length } = f.parameters('i32', ['start', 'length']);
  const { end } = f.locals('i32', ['end']);
  const { x } = f.locals('v128', ['x']);
  const pointers = Object.values(f.locals('i32', ['p0', 'p1', 'p2', 'p3']));
  const sums = Object.values(f.locals('v128', ['s0', 's1', 's2', 's3']));
  f.append(end.set(i32.add(start.get, length.get)));
  let next = start.get;
  for (const pointer of pointers) {
    f.append(pointer.set(next));
    next = i32.add(pointer.get, length.get);
  }
  const addSquares = (pointer: Variable, sum: Variable): Code[] => [
    x.set(promoteLow(v128.loadLow(pointer.get))),
    sum.set(add(sum.get, mul(x.get, x.get))),
    advance(pointer, VECTOR_BYTES / 2),
  ];
  f.repeatWhile(
    i32.lessUnsigned(pointers[0]!.get, end.get),
    ...pointers.flatMap((pointer, stream) => addSquares(pointer, sums[stream]!)),
  );
  f.append(x.set(sums.map(({ get }) => get).reduce((a, b) => add(a, b))));
  f.append(f64.add(lane(x.get, 0), lane(x.get, 1)));
  return f;
}
