/**
 * The tensor types of GGUF that are read: how many values a block holds in how many bytes, and their values as float32.
 * Layouts as in ggml-common.h and ggml-quants.c of the ggml library. Every product of a scale and a quantized value has at most
 * 25 significant bits, so float64 arithmetic, rounded once, gives the float32 values of the reference.
 */
import { halfToFloat } from '../model/float-formats.ts';

/** Writes the values of whole blocks. */
export type Dequantize = (bytes: Uint8Array, target: Float32Array) => void;

export interface GgufType {
  name: string;
  blockValues: number;
  blockBytes: number;
  dequantize: Dequantize;
}

/** Writes one block that begins at `at` in `bytes` to `target` from `to` on. */
type DequantizeBlock = (bytes: Uint8Array, at: number, target: Float32Array, to: number) => void;

function half(bytes: Uint8Array, at: number): number {
  return halfToFloat(bytes[at]! | (bytes[at + 1]! << 8));
}

function type(name: string, blockValues: number, blockBytes: number, block: DequantizeBlock): GgufType {
  return {
    name,
    blockValues,
    blockBytes,
    dequantize(bytes, target) {
      for (let at = 0, to = 0; at < bytes.length; at += blockBytes, to += blockValues)
        block(bytes, at, target, to);
    },
  };
}

const scratch = new DataView(new ArrayBuffer(4));

const f32 = type('F32', 1, 4, (bytes, at, target, to) => {
  for (let i = 0; i < 4; i++) scratch.setUint8(i, bytes[at + i]!);
  target[to] = scratch.getFloat32(0, true);
});
const f16 = type('F16', 1, 2, (bytes, at, target, to) => {
  target[to] = half(bytes, at);
});
const bf16 = type('BF16', 1, 2, (bytes, at, target, to) => {
  scratch.setUint32(0, (bytes[at]! << 16) | (bytes[at + 1]! << 24));
  target[to] = scratch.getFloat32(0);
});

const q8_0 = type('Q8_0', 32, 34, (bytes, at, target, to) => {
  const scale = half(bytes, at);
  for (let i = 0; i < 32; i++) target[to + i] = scale * ((bytes[at + 2 + i]! << 24) >> 24);
});

/** 4-bit values: the low halves of 16 bytes, then the high ones; a fifth bit each from a word where `fifthBits` says. */
function fourBits(scaleBytes: number, fifthBits: boolean, offset: number): DequantizeBlock {
  const minimum = scaleBytes === 4;
  return (bytes, at, target, to) => {
    const scale = half(bytes, at);
    // Adding -0 changes nothing, not even the sign of a zero.
    const least = minimum ? half(bytes, at + 2) : -0;
    const word = at + scaleBytes;
    const values = fifthBits ? word + 4 : word;
    for (let i = 0; i < 16; i++) {
      const byte = bytes[values + i]!;
      const lowFifth = fifthBits ? ((bytes[word + (i >> 3)]! >> (i & 7)) & 1) << 4 : 0;
      const highFifth = fifthBits ? ((bytes[word + 2 + (i >> 3)]! >> (i & 7)) & 1) << 4 : 0;
      target[to + i] = scale * (((byte & 15) | lowFifth) - offset) + least;
      target[to + 16 + i] = scale * (((byte >> 4) | highFifth) - offset) + least;
    }
  };
}
const q4_0 = type('Q4_0', 32, 18, fourBits(2, false, 8));
const q4_1 = type('Q4_1', 32, 20, fourBits(4, false, 0));
const q5_0 = type('Q5_0', 32, 22, fourBits(2, true, 16));
const q5_1 = type('Q5_1', 32, 24, fourBits(4, true, 0));

/** Super-blocks of 8 sub-blocks of 32, whose 6-bit scales and minima are packed in 12 bytes. */
function superBlock(fifthBits: boolean): DequantizeBlock {
  return (bytes, at, target, to) => {
    const scale = half(bytes, at);
    const minimum = half(bytes, at + 2);
    const packed = at + 4;
    const fifths = packed + 12;
    const values = fifthBits ? fifths + 32 : fifths;
    for (let sub = 0; sub < 8; sub++) {
      const low = bytes[packed + sub]!;
      const high = bytes[packed + sub + 4]!;
      const before = bytes[packed + sub - 4]!;
      const subScale = scale * (sub < 4 ? low & 63 : (high & 15) | ((before >> 6) << 4));
      const subMinimum = minimum * (sub < 4 ? high & 63 : (high >> 4) | ((low >> 6) << 4));
      const shift = (sub & 1) * 4;
      const bytesOfPair = values + (sub >> 1) * 32;
      for (let i = 0; i < 32; i++) {
        const fifth = fifthBits ? ((bytes[fifths + i]! >> sub) & 1) << 4 : 0;
        target[to + sub * 32 + i] =
          subScale * (((bytes[bytesOfPair + i]! >> shift) & 15) | fifth) - subMinimum;
      }
    }
  };
}
const q4_k = type('Q4_K', 256, 144, superBlock(false));
const q5_k = type('Q5_K', 256, 176, superBlock(true));

/** 16 sub-blocks of 16: low 4 bits in 128 bytes, high 2 bits in 64, signed 8-bit scales, and the scale of all at the end. */
const q6_k = type('Q6_K', 256, 210, (bytes, at, target, to) => {
  const scale = half(bytes, at + 208);
  for (let i = 0; i < 256; i++) {
    const [half128, quarter, lane] = [i >> 7, (i >> 5) & 3, i & 31];
    const low = (bytes[at + half128 * 64 + (quarter & 1) * 32 + lane]! >> ((quarter >> 1) * 4)) & 15;
    const high = (bytes[at + 128 + half128 * 32 + lane]! >> (quarter * 2)) & 3;
    const subScale = (bytes[at + 192 + (i >> 4)]! << 24) >> 24;
    target[to + i] = scale * subScale * ((low | (high << 4)) - 32);
  }
});

/** By the number that the tensor table has. */
export const ggufTypes: Readonly<Record<number, GgufType>> = {
  0: f32,
  1: f16,
  2: q4_0,
  3: q4_1,
  6: q5_0,
  7: q5_1,
  8: q8_0,
  12: q4_k,
  13: q5_k,
  14: q6_k,
  30: bf16,
};
