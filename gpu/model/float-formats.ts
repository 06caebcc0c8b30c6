/** The 16-bit float formats of weight files, widened to float32; every value is exact, since float32 contains both. */

const scratch = new Float32Array(1);
const scratchBits = new Uint32Array(scratch.buffer);

/** bfloat16 is the upper half of a float32. */
export function widenBfloat16(bits: Uint16Array, target: Float32Array): void {
  const targetBits = new Uint32Array(target.buffer, target.byteOffset, target.length);
  for (let i = 0; i < bits.length; i++) targetBits[i] = bits[i]! << 16;
}

/** The value of an IEEE 754 binary16. */
export function halfToFloat(half: number): number {
  const sign = (half & 0x8000) << 16;
  const exponent = (half >>> 10) & 0x1f;
  const fraction = half & 0x3ff;
  if (exponent === 0) return (sign ? -1 : 1) * fraction * 2 ** -24;
  scratchBits[0] = sign | ((exponent === 31 ? 255 : exponent + 112) << 23) | (fraction << 13);
  return scratch[0]!;
}

export function widenHalf(bits: Uint16Array, target: Float32Array): void {
  for (let i = 0; i < bits.length; i++) target[i] = halfToFloat(bits[i]!);
}
