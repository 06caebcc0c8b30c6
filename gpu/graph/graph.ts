/**
 * Builds ONNX models (opset 21 plus com.microsoft 1). Nodes are added in execution order; shapes may hold symbolic dimensions.
 * Names of inner values contain a colon and names of inputs, outputs and initializers must not, so the two never collide.
 */
import onnxProto from 'onnx-proto';
import type { onnx } from 'onnx-proto';

const { AttributeProto, ModelProto, TensorProto } = onnxProto.onnx;
const OPSET = 21;
const IR_VERSION = 10;
export const MICROSOFT = 'com.microsoft';

/** A fixed size, or the name of a size known when the model runs. */
export type Dimension = number | string;
export type ElementType = 'float32' | 'int64' | 'int32' | 'bool' | 'bfloat16';
export type ConstantData = Float32Array | BigInt64Array | Int32Array | Uint8Array;

/** A tensor of the graph: an input, an initializer, or one output of a node. */
export interface Value {
  readonly graph: Graph;
  readonly name: string;
  readonly shape: readonly Dimension[];
  readonly type: ElementType;
}

export type Attribute = number | string | readonly number[] | { readonly float: number };

export interface OutputSpec {
  shape: readonly Dimension[];
  type?: ElementType;
}

interface NamedValue extends Value {
  name: string;
}

interface Initializer {
  value: Value;
  data: ConstantData;
}

/** A float32 tensor in a named array beside the model, from an element on. */
interface External {
  value: Value;
  array: string;
  offset: number;
}

/** An operator with its operands and results. */
export interface Node {
  operator: string;
  domain: string;
  inputs: readonly (Value | null)[];
  outputs: readonly NamedValue[];
  attributes: Readonly<Record<string, Attribute>>;
}

export class Graph {
  readonly name: string;
  readonly inputs: Value[] = [];
  readonly outputs: Value[] = [];
  readonly #nodes: Node[] = [];
  readonly #initializers: Initializer[] = [];
  readonly #externals: External[] = [];
  readonly #names = new Set<string>();
  readonly #constants = new Map<string, Value>();
  readonly #produced = new Set<Value>();
  #count = 0;

  constructor(name: string) {
    this.name = name;
  }

  input(name: string, shape: readonly Dimension[], type: ElementType = 'float32'): Value {
    const value = this.#named(name, shape, type);
    this.inputs.push(value);
    return value;
  }

  /** Declares `value` an output under `name`. Every symbolic dimension is resolved when the model runs. */
  output(name: string, value: Value): void {
    const node = this.#produced.has(value) && !this.outputs.includes(value);
    const target = node
      ? value
      : this.node('Identity', [value], [{ shape: value.shape, type: value.type }])[0]!;
    this.#claim(name);
    (target as NamedValue).name = name;
    this.outputs.push(target);
  }

  /** A tensor stored in the model file. */
  initializer(name: string, shape: readonly number[], data: ConstantData): Value {
    const value = this.#named(name, shape, elementTypeOf(data));
    this.#initializers.push({ value, data });
    return value;
  }

  /** A float32 tensor stored beside the model, in an array that sessions are given under a name, from element `offset` on. */
  external(name: string, shape: readonly number[], array: string, offset: number): Value {
    const value = this.#named(name, shape, 'float32');
    this.#externals.push({ value, array, offset });
    return value;
  }

  /** An unnamed stored tensor; equal small ones are stored once. */
  constant(shape: readonly number[], data: ConstantData): Value {
    const type = elementTypeOf(data);
    const key = `${type} [${shape.join()}] ${data.join()}`;
    let value = this.#constants.get(key);
    if (!value) {
      value = this.#inner('constant', shape, type);
      this.#initializers.push({ value, data });
      this.#constants.set(key, value);
    }
    return value;
  }

  /** A float32 scalar. */
  scalar(value: number): Value {
    return this.constant([], Float32Array.of(value));
  }

  /** An int64 vector, as operators take for shapes and axes. */
  integers(values: readonly number[]): Value {
    return this.constant([values.length], BigInt64Array.from(values, BigInt));
  }

  /** Adds a node; a null input is an optional input left out. Returns its outputs in order. */
  node(
    operator: string,
    inputs: readonly (Value | null)[],
    outputs: readonly OutputSpec[],
    attributes: Readonly<Record<string, Attribute>> = {},
    domain = '',
  ): Value[] {
    const values = outputs.map(({ shape, type }) => this.#inner(operator, shape, type ?? 'float32'));
    this.#nodes.push({ operator, domain, inputs, outputs: values, attributes });
    for (const value of values) this.#produced.add(value);
    return values;
  }

  /**
   * A copy with the same inputs, stored tensors and outputs, in which `rewrite` may compute the outputs of a node in another way.
   * The inputs of the node that it is shown belong to the copy; it returns as many of the outputs as are used, or null to keep
   * the node.
   */
  rewritten(rewrite: (node: Readonly<Node>) => readonly Value[] | null): Graph {
    const copy = new Graph(this.name);
    const values = new Map<Value, Value>();
    for (const input of this.inputs) values.set(input, copy.input(input.name, input.shape, input.type));
    for (const { value, data } of this.#initializers) {
      const shape = value.shape.map(Number);
      const stored = this.#names.has(value.name)
        ? copy.initializer(value.name, shape, data)
        : copy.constant(shape, data);
      values.set(value, stored);
    }
    for (const { value, array, offset } of this.#externals) {
      values.set(value, copy.external(value.name, value.shape.map(Number), array, offset));
    }
    for (const node of this.#nodes) {
      const inputs = node.inputs.map((input) => input && values.get(input)!);
      const { operator, outputs, attributes, domain } = node;
      const replaced =
        rewrite({ ...node, inputs }) ?? copy.node(operator, inputs, outputs, attributes, domain);
      replaced.forEach((value, i) => values.set(outputs[i]!, value));
    }
    for (const output of this.outputs) copy.output(output.name, values.get(output)!);
    return copy;
  }

  /** The model as a message, for callers that add to it. Nodes that no output needs are left out. */
  toModel(): onnx.IModelProto {
    return {
      irVersion: IR_VERSION,
      producerName: 'rekindle',
      opsetImport: [
        { domain: '', version: OPSET },
        { domain: MICROSOFT, version: 1 },
      ],
      graph: {
        name: this.name,
        node: this.#neededNodes().map(nodeProto),
        initializer: [
          ...this.#initializers.map(({ value, data }) => tensorProto(value, data)),
          ...this.#externals.map(externalProto),
        ],
        input: this.inputs.map(valueProto),
        output: this.outputs.map(valueProto),
      },
    };
  }

  #neededNodes(): Node[] {
    const needed = new Set<Value | null>(this.outputs);
    const nodes = this.#nodes.toReversed().filter(({ inputs, outputs }) => {
      const isNeeded = outputs.some((output) => needed.has(output));
      if (isNeeded) for (const input of inputs) needed.add(input);
      return isNeeded;
    });
    return nodes.toReversed();
  }

  #named(name: string, shape: readonly Dimension[], type: ElementType): Value {
    this.#claim(name);
    return { graph: this, name, shape, type };
  }

  #claim(name: string): void {
    if (name.includes(':')) throw new Error(`value name "${name}" contains a colon`);
    if (this.#names.has(name)) throw new Error(`value name "${name}" is used twice in graph ${this.name}`);
    this.#names.add(name);
  }

  #inner(label: string, shape: readonly Dimension[], type: ElementType): NamedValue {
    return { graph: this, name: `${label}:${this.#count++}`, shape, type };
  }
}

/** The bytes of a model file. */
export function encodeModel(model: onnx.IModelProto): Uint8Array {
  return ModelProto.encode(model).finish();
}

export const dataTypes: Record<ElementType, number> = {
  float32: TensorProto.DataType.FLOAT,
  int64: TensorProto.DataType.INT64,
  int32: TensorProto.DataType.INT32,
  bool: TensorProto.DataType.BOOL,
  bfloat16: TensorProto.DataType.BFLOAT16,
};

function elementTypeOf(data: ConstantData): ElementType {
  if (data instanceof Float32Array) return 'float32';
  if (data instanceof BigInt64Array) return 'int64';
  return data instanceof Int32Array ? 'int32' : 'bool';
}

function tensorProto({ name, shape, type }: Value, data: ConstantData): onnx.ITensorProto {
  const rawData = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return { name, dims: shape.map(Number), dataType: dataTypes[type], rawData };
}

function externalProto({ value, array, offset }: External): onnx.ITensorProto {
  const dims = value.shape.map(Number);
  const length = dims.reduce((product, size) => product * size, 1);
  const externalData = Object.entries({
    location: array,
    offset: 4 * offset,
    length: 4 * length,
  }).map(([key, entry]) => ({ key, value: String(entry) }));
  const dataLocation = TensorProto.DataLocation.EXTERNAL;
  return { name: value.name, dims, dataType: dataTypes.float32, dataLocation, externalData };
}

function valueProto({ name, shape, type }: Value): onnx.IValueInfoProto {
  const dim = shape.map((size) => (typeof size === 'number' ? { dimValue: size } : { dimParam: size }));
  return { name, type: { tensorType: { elemType: dataTypes[type], shape: { dim } } } };
}

function nodeProto(node: Node): onnx.INodeProto {
  return {
    name: node.outputs[0]!.name,
    opType: node.operator,
    domain: node.domain,
    input: node.inputs.map((value) => value?.name ?? ''),
    output: node.outputs.map((value) => value.name),
    attribute: Object.entries(node.attributes).map(([name, value]) => attributeProto(name, value)),
  };
}

function attributeProto(name: string, value: Attribute): onnx.IAttributeProto {
  const { AttributeType } = AttributeProto;
  if (typeof value === 'number') return { name, type: AttributeType.INT, i: value };
  if (typeof value === 'string')
    return { name, type: AttributeType.STRING, s: new TextEncoder().encode(value) };
  if ('float' in value) return { name, type: AttributeType.FLOAT, f: value.float };
  return { name, type: AttributeType.INTS, ints: [...value] };
}
