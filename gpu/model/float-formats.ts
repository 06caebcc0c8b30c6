/**
 * The 16-bit float formats of weight files. Widening to float32 is exact, since float32 contains both; narrowing rounds to the
 * nearest, to even on a tie, as IEEE 754 has it. The loops work on bits: they run over every weight of a model.
 */
const scratch = new Float32Array(1);
const scratchBits = new Uint32Array(scratch.buffer);

function bitsOf(values: Float32Array): Uint32Array {
  return new Uint32Array(values.buffer, values.byteOffset, values.length);
}

/** bfloat16 is the upper half of a float32. `bits` may lie in the second half of the memory of `target`. */
export function widenBfloat16(bits: Uint16Array, target: Float32Array): void {
  const targetBits = bitsOf(target);
  for (let i = 0; i < bits.length; i++) targetBits[i] = bits[i]! << 16;
}

/** The float32 bits of an IEEE 754 binary16. */
function widenedHalf(half: number): number {
  const sign = (half & 0x8000) << 16;
  const magnitude = half & 0x7fff;
  if (magnitude >= 0x400 && magnitude < 0x7c00) return sign | ((magnitude + 0x1_c000) << 13);
  if (magnitude >= 0x7c00) return sign | 0x7f80_0000 | ((magnitude & 0x3ff) << 13);
  scratch[0] = magnitude * 2 ** -24;
  return sign | scratchBits[0]!;
}

/** The value of an IEEE 754 binary16. */
export function halfToFloat(half: number): number {
  scratchBits[0] = widenedHalf(half);
  return scratch[0]!;
}

/** `bits` may lie in the second half of the memory of `target`. */
export function widenHalf(bits: Uint16Array, target: Float32Array): void {
  const targetBits = bitsOf(target);
  for (let i = 0; i < bits.length; i++) targetBits[i] = widenedHalf(bits[i]!);
}

export function narrowToBfloat16(values: Float32Array): Uint16Array {
  const bits = bitsOf(values);
  const narrowed = new Uint16Array(values.length);
  for (let i = 0; i < bits.length; i++) {
    const value = bits[i]!;
    const isNaN = (value & 0x7fff_ffff) > 0x7f80_0000;
    // Rounding could carry a NaN over into an infinity or a zero.
    narrowed[i] = isNaN ? (value >>> 16) | 0x40 : (value + 0x7fff + ((value >>> 16) & 1)) >>> 16;
  }
  return narrowed;
}

function narrowedHalf(value: number): number {
  const sign = (value >>> 16) & 0x8000;
  const magnitude = value & 0x7fff_ffff;
  if (magnitude > 0x7f80_0000) return sign | 0x7e00;
  // At 65520 and above the nearest value would be 2^16, which binary16 lacks.
  if (magnitude >= 0x477f_f000) return sign | 0x7c00;
  if (magnitude >= 0x3880_0000) {
    const rounded = magnitude + 0xfff + ((magnitude >>> 13) & 1);
    return sign | ((rounded >>> 13) - 0x1_c000);
  }
  scratchBits[0] = magnitude;
  // Below 2^-14 the steps are 2^-24: adding 2^-1 * 1.5 lets float32 arithmetic round to them.
  scratch[0] = scratch[0]! + 0.75;
  return sign | (scratchBits[0] - 0x3f40_0000);
}

export function narrowToHalf(values: Float32Array): Uint16Array {
  const bits = bitsOf(values);
  const narrowed = new Uint16Array(values.length);
  for (let i = 0; i < bits.length; i++) narrowed[i] = narrowedHalf(bits[i]!);
  return narrowed;
}
