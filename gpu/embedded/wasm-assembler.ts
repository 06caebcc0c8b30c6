/**
 * Encodes WebAssembly modules for kernels written by hand: functions over one imported memory, whose body is one loop and one
 * result. An instruction is written as an expression of its operands, so that a kernel reads like the formula that it computes.
 * Opcodes are those of the WebAssembly core specification 2.0.
 */
export interface Memory {
  readonly buffer: ArrayBuffer;
}

interface Instance {
  readonly exports: Record<string, (...numbers: number[]) => number>;
}

/** The part of the global of this name that kernels need; the type definitions of Node.js 20 leave it out. */
export const { WebAssembly } = globalThis as unknown as {
  WebAssembly: {
    Memory: new (size: { initial: number }) => Memory;
    Module: new (bytes: Uint8Array) => object;
    Instance: new (module: object, imports: { kernel: { memory: Memory } }) => Instance;
  };
};

export type ValueType = 'i32' | 'f32' | 'f64' | 'v128';

/** Bytes of instructions; those of an expression leave one value. */
export type Code = readonly number[];

const typeCodes: Record<ValueType, number> = { i32: 0x7f, f32: 0x7d, f64: 0x7c, v128: 0x7b };
const FUNCTION_TYPE = 0x60;
const EMPTY_BLOCK = 0x40;
const END = 0x0b;

const unsigned = (value: number): number[] =>
  value < 128 ? [value] : [(value & 127) | 128, ...unsigned(value >>> 7)];

/** Signed LEB128 of a number that is not negative. */
const positive = (value: number): number[] =>
  value < 64 ? [value] : [(value & 127) | 128, ...positive(value >>> 7)];

const vector = (items: readonly Code[]): number[] => [...unsigned(items.length), ...items.flat()];
const sized = (bytes: Code): number[] => [...unsigned(bytes.length), ...bytes];
const text = (value: string): number[] => sized([...new TextEncoder().encode(value)]);
const simd = (opcode: number): number[] => [0xfd, ...unsigned(opcode)];

const operator =
  (opcode: Code) =>
  (...operands: Code[]): Code => [...operands.flat(), ...opcode];

export const i32 = {
  constant: (value: number): Code => [0x41, ...positive(value)],
  add: operator([0x6a]),
  lessUnsigned: operator([0x49]),
};
export const f32 = {
  constant: (value: number): Code => [0x43, ...new Uint8Array(Float32Array.of(value).buffer)],
};
export const f64 = { add: operator([0xa0]) };
export const f32x4 = {
  splat: operator(simd(0x13)),
  add: operator(simd(0xe4)),
  sub: operator(simd(0xe5)),
  mul: operator(simd(0xe6)),
  div: operator(simd(0xe7)),
  sqrt: operator(simd(0xe3)),
  abs: operator(simd(0xe0)),
  less: operator(simd(0x43)),
};
export const f64x2 = {
  add: operator(simd(0xf0)),
  mul: operator(simd(0xf2)),
  /** The lower two of four floats, as doubles. */
  promoteLow: operator(simd(0x5f)),
  lane: (value: Code, lane: 0 | 1): Code => [...value, ...simd(0x21), lane],
};
export const v128 = {
  or: operator(simd(0x50)),
  /** The bits of the first operand that are not in the second. */
  andNot: operator(simd(0x4f)),
  anyTrue: operator(simd(0x53)),
  zero: [...simd(0x0c), ...new Uint8Array(16)] as Code,
  load: (address: Code): Code => [...address, ...simd(0x00), 0, 0],
  /** Eight bytes into the lower half; the upper becomes zero. */
  loadLow: (address: Code): Code => [...address, ...simd(0x5d), 0, 0],
  store: (address: Code, value: Code): Code => [...address, ...value, ...simd(0x0b), 0, 0],
};

/** A parameter or a local variable; locals begin as zero. */
export class Variable {
  readonly type: ValueType;
  readonly #index: Code;

  constructor(type: ValueType, index: number) {
    this.type = type;
    this.#index = unsigned(index);
  }

  get get(): Code {
    return [0x20, ...this.#index];
  }

  set(value: Code): Code {
    return [...value, 0x21, ...this.#index];
  }

  /** Sets the variable, and is an expression of the value. */
  tee(value: Code): Code {
    return [...value, 0x22, ...this.#index];
  }
}

export class KernelFunction {
  readonly name: string;
  readonly result: ValueType;
  readonly #parameters: Variable[] = [];
  readonly #locals: Variable[] = [];
  readonly #body: number[] = [];

  constructor(name: string, result: ValueType) {
    this.name = name;
    this.result = result;
  }

  /** Adds parameters of one type. All parameters come before the first local. */
  parameters<Name extends string>(type: ValueType, names: readonly Name[]): Record<Name, Variable> {
    return this.#add(this.#parameters, type, names);
  }

  locals<Name extends string>(type: ValueType, names: readonly Name[]): Record<Name, Variable> {
    return this.#add(this.#locals, type, names);
  }

  append(...instructions: Code[]): void {
    for (const code of instructions) this.#body.push(...code);
  }

  /** Runs the instructions, and again as long as `condition` holds after them. */
  repeatWhile(condition: Code, ...instructions: Code[]): void {
    this.append([0x03, EMPTY_BLOCK], ...instructions, condition, [0x0d, 0], [END]);
  }

  #add<Name extends string>(to: Variable[], type: ValueType, names: readonly Name[]): Record<Name, Variable> {
    const added = names.map((name): [Name, Variable] => {
      const variable = new Variable(type, this.#parameters.length + this.#locals.length);
      to.push(variable);
      return [name, variable];
    });
    return Object.fromEntries(added) as Record<Name, Variable>;
  }

  get signature(): Code {
    const codes = this.#parameters.map(({ type }) => [typeCodes[type]]);
    return [FUNCTION_TYPE, ...vector(codes), ...vector([[typeCodes[this.result]]])];
  }

  get code(): Code {
    const locals = this.#locals.map(({ type }) => [1, typeCodes[type]]);
    return sized([...vector(locals), ...this.#body, END]);
  }
}

/** A module that imports `kernel.memory` and exports the functions under their names. */
export function encodeKernelModule(functions: readonly KernelFunction[]): Uint8Array {
  const section = (id: number, items: readonly Code[]): number[] => [id, ...sized(vector(items))];
  const memoryImport = [...text('kernel'), ...text('memory'), 2, 0, 0];
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(
      1,
      functions.map(({ signature }) => signature),
    ),
    ...section(2, [memoryImport]),
    ...section(
      3,
      functions.map((_, index) => unsigned(index)),
    ),
    ...section(
      7,
      functions.map(({ name }, index) => [...text(name), 0, ...unsigned(index)]),
    ),
    ...section(
      10,
      functions.map(({ code }) => code),
    ),
  ]);
}
