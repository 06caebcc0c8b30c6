import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { halfToFloat, narrowToBfloat16, narrowToHalf, widenBfloat16, widenHalf } from './float-formats.ts';

const every = Uint16Array.from({ length: 0x1_0000 }, (_, bits) => bits);

/** The value of a binary16 by its definition (IEEE 754-2019, 3.4). */
function halfByDefinition(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
  if (exponent === 31) return fraction === 0 ? sign * Infinity : NaN;
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** The nearest of all values of a format, the one with an even last bit on a tie. */
function nearest(value: number, widened: Float32Array): Set<number> {
  let least = Infinity;
  let found: number[] = [];
  widened.forEach((candidate, bits) => {
    if (!Number.isFinite(candidate)) return;
    const distance = Math.abs(candidate - value);
    if (distance < least) [least, found] = [distance, [bits]];
    else if (distance === least) found.push(bits);
  });
  const even = found.filter((bits) => bits % 2 === 0);
  return new Set(found.length > 1 && even.length > 0 ? even : found);
}

describe('16-bit floats', () => {
  it('widen to the values that they stand for', () => {
    const widened = new Float32Array(every.length);
    widenHalf(every, widened);
    expect(widened).toEqual(Float32Array.from(every, halfByDefinition));
    expect(Float32Array.from(every, halfToFloat)).toEqual(widened);
  });

  it('widen in place from the second half of the memory', () => {
    for (const widen of [widenHalf, widenBfloat16]) {
      const expected = new Float32Array(every.length);
      widen(every, expected);
      const inPlace = new Float32Array(every.length);
      const bits = new Uint16Array(inPlace.buffer, 2 * every.length, every.length);
      bits.set(every);
      widen(bits, inPlace);
      expect(new Uint32Array(inPlace.buffer)).toEqual(new Uint32Array(expected.buffer));
    }
  });

  it.each([
    ['binary16', widenHalf, narrowToHalf],
    ['bfloat16', widenBfloat16, narrowToBfloat16],
  ])('%s comes back as it was', (_, widen, narrow) => {
    const widened = new Float32Array(every.length);
    widen(every, widened);
    narrow(widened).forEach((bits, i) => {
      if (!Number.isNaN(widened[i])) expect(bits).toBe(every[i]);
      else
        expect(
          new Float32Array(1).map(
            () => (widen(Uint16Array.of(bits), widened.subarray(i, i + 1)), widened[i]!),
          )[0],
        ).toBeNaN();
    });
  });

  it.each([
    ['binary16', widenHalf, narrowToHalf, 65_000],
    ['bfloat16', widenBfloat16, narrowToBfloat16, 1e30],
  ])('%s is the nearest, even on a tie', (_, widen, narrow, most) => {
    const widened = new Float32Array(every.length);
    widen(every, widened);
    const exponent = fc.integer({ min: -26, max: 15 }).map((power) => 2 ** power);
    const value = fc
      .tuple(fc.float({ min: -2, max: 2, noNaN: true }), exponent)
      .map(([x, scale]) => Math.fround(x * scale));
    const tie = fc
      .tuple(fc.nat(0x7bfe), fc.boolean())
      .map(([bits]) => Math.fround((widened[bits]! + widened[bits + 1]!) / 2));
    fc.assert(
      fc.property(fc.oneof(value, tie), (x) => {
        if (!(Math.abs(x) < most)) return;
        const [bits] = narrow(Float32Array.of(x));
        // Both zeros are nearest to a tiny value.
        expect(nearest(x, widened).has(bits!) || Math.abs(widened[bits!]!) === 0).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  it('narrow what is too large to infinity', () => {
    expect(narrowToHalf(Float32Array.of(65_519, 65_520, -1e9, Infinity))).toEqual(
      Uint16Array.of(0x7bff, 0x7c00, 0xfc00, 0x7c00),
    );
    expect(narrowToBfloat16(Float32Array.of(3.4e38, -Infinity))).toEqual(Uint16Array.of(0x7f80, 0xff80));
  });
});
