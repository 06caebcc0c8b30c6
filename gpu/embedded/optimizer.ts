/**
 * AdamW (Loshchilov and Hutter 2019, "Decoupled weight decay regularization", algorithm 2) with clipping by the global gradient
 * norm, over flat arrays. The arrays lie in one WebAssembly memory, which the kernel updates in place; larger ones than such a
 * memory holds are copied into it and back, slice by slice. The bits are the same either way.
 */
import type { StepSettings } from '../engine-port.ts';
import { stepFactors, type UpdateFactors } from './adamw-factors.ts';
import { adamWKernel, type Addresses, type AdamWKernel } from './adamw-kernel.ts';
import { WebAssembly } from './wasm-assembler.ts';
import type { WeightsLayout } from './weights-layout.ts';

/** Elements given to the kernel at once, and the unit in which the gradient norm is summed. */
const SLICE = 1 << 16;
/** Elements that the kernel updates at once. */
const VECTOR = 4;
const PAGE_BYTES = 1 << 16;
const LARGEST_MEMORY_BYTES = 2 ** 32;
const arrayNames = ['weights', 'gradients', 'firstMoments', 'secondMoments'] as const;
type ArrayName = (typeof arrayNames)[number];

/** Flat arrays of one length; `firstMoments` and `secondMoments` are the running means of the gradient and of its square. */
export type OptimizerArrays = Record<ArrayName, Float32Array>;

/** How many parameters there are; weight decay applies to the first `matrixParameters`. */
export type OptimizerLayout = Pick<WeightsLayout, 'parameters' | 'matrixParameters'>;

export class AdamW {
  readonly arrays: OptimizerArrays;
  readonly #layout: OptimizerLayout;
  readonly #kernel: AdamWKernel;
  readonly #inPlace: boolean;
  /** Room in the kernel's memory for a slice that cannot be updated in place. */
  readonly #room: OptimizerArrays;

  /**
   * Makes the arrays, filled with zero.
   * @param memoryBytes Most bytes that the WebAssembly memory may have.
   */
  constructor(layout: OptimizerLayout, memoryBytes = LARGEST_MEMORY_BYTES) {
    const { parameters } = layout;
    const roomBytes = 4 * strideOf(SLICE);
    const arraysBytes = 4 * strideOf(parameters);
    this.#layout = layout;
    this.#inPlace = roomBytes + arraysBytes <= memoryBytes;
    const pages = Math.ceil((roomBytes + (this.#inPlace ? arraysBytes : 0)) / PAGE_BYTES);
    const memory = new WebAssembly.Memory({ initial: pages });
    this.#kernel = adamWKernel(memory);
    this.#room = arraysIn(memory.buffer, 0, SLICE);
    this.arrays = this.#inPlace
      ? arraysIn(memory.buffer, roomBytes, parameters)
      : arraysIn(new ArrayBuffer(arraysBytes), 0, parameters);
  }

  /**
   * One update from the gradients, which it clears. `applied` is false when a gradient is not finite, and then weights and
   * moments stay as they are; or when a weight has become infinite or NaN.
   * @param step Number of this step since the moments were zero, from 1.
   */
  step(settings: StepSettings, step: number): { gradientNorm: number; applied: boolean } {
    const { parameters, matrixParameters } = this.#layout;
    const gradientNorm = this.#gradientNorm();
    if (!Number.isFinite(gradientNorm)) {
      this.arrays.gradients.fill(0);
      return { gradientNorm, applied: false };
    }
    const { withDecay, withoutDecay } = stepFactors(settings, step, gradientNorm);
    const matricesFinite = this.#update(0, matrixParameters, withDecay);
    const othersFinite = this.#update(matrixParameters, parameters, withoutDecay);
    return { gradientNorm, applied: matricesFinite && othersFinite };
  }

  #gradientNorm(): number {
    const { gradients } = this.arrays;
    let sum = 0;
    for (let from = 0; from < gradients.length; from += SLICE) {
      const slice = gradients.subarray(from, from + SLICE);
      const inVectors = slice.length - (slice.length % 8);
      if (!this.#inPlace) this.#room.gradients.set(slice);
      const { byteOffset } = this.#inPlace ? slice : this.#room.gradients;
      if (inVectors > 0) sum += this.#kernel.sumOfSquares(byteOffset, inVectors);
      for (const gradient of slice.subarray(inVectors)) sum += gradient * gradient;
    }
    return Math.sqrt(sum);
  }

  /** Tells whether all new weights are finite. */
  #update(start: number, end: number, factors: UpdateFactors): boolean {
    let finite = true;
    for (let from = start; from < end; from += SLICE) {
      const to = Math.min(from + SLICE, end);
      const slice = eachArray((name) => this.arrays[name].subarray(from, to));
      finite = this.#updateSlice(slice, factors) && finite;
    }
    return finite;
  }

  /** Whole vectors in place if the slice lies in the kernel's memory; what is left in a copy that is filled up with zeros. */
  #updateSlice(slice: OptimizerArrays, factors: UpdateFactors): boolean {
    const { length } = slice.weights;
    const inPlace = this.#inPlace ? length - (length % VECTOR) : 0;
    const finite = inPlace === 0 || this.#kernel.update(addressesOf(slice), inPlace, factors);
    if (inPlace === length) return finite;
    const rest = eachArray((name) => slice[name].subarray(inPlace));
    const copied = Math.ceil((length - inPlace) / VECTOR) * VECTOR;
    for (const name of arrayNames) this.#room[name].fill(0, length - inPlace, copied).set(rest[name]);
    const restFinite = this.#kernel.update(addressesOf(this.#room), copied, factors);
    for (const name of arrayNames) rest[name].set(this.#room[name].subarray(0, length - inPlace));
    return finite && restFinite;
  }
}

function eachArray(make: (name: ArrayName, index: number) => Float32Array): OptimizerArrays {
  return Object.fromEntries(arrayNames.map((name, i) => [name, make(name, i)])) as OptimizerArrays;
}

/**
 * Bytes between the beginnings of two arrays of `length` elements: no multiple of 4096, or a store to one array would seem to the
 * processor, which compares the lower 12 bits first, to be what the next load from another waits for.
 */
const strideOf = (length: number): number => Math.ceil(length / 1024) * 4096 + 1088;

/** Four arrays of `length` elements, one after the other. */
const arraysIn = (buffer: ArrayBuffer, start: number, length: number): OptimizerArrays =>
  eachArray((_, index) => new Float32Array(buffer, start + index * strideOf(length), length));

function addressesOf(arrays: OptimizerArrays): Addresses {
  const { weights, gradients, firstMoments, secondMoments } = arrays;
  return {
    w: weights.byteOffset,
    g: gradients.byteOffset,
    m: firstMoments.byteOffset,
    v: secondMoments.byteOffset,
  };
}
