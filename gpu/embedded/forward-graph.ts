/**
 * The graph that generation runs, for prompts and for single tokens alike: it takes the next tokens of several sequences ("rows"),
 * adds their keys and values to the cache, and gives the next-token distribution after selected ones.
 *
 * What it computes for a token depends, to the bit, on that token and those before it alone: not on how many tokens or rows are run
 * at once, on the length of the cache, or on the number of threads. For that:
 * - Weights are constants, which the runtime packs when the session is made. It computes packed products row by row, cutting sums
 *   at fixed places. (Of weights that are inputs it cuts them by the width of a thread's part.) Packed, they are also read the fastest.
 * - Attention is made of plain products over the whole cache, and a mask. The runtime computes a product of one row in another way
 *   than one of several, but only where the factor on it is 1; so no factor here is. Masked positions add exact zeros, and cache lengths
 *   are multiples of CACHE_STEP, so no sum is ever cut elsewhere.
 */
import type { DecoderConfig } from '../model/decoder-config.ts';
import { Graph, MICROSOFT, type Value } from '../graph/graph.ts';
import {
  add,
  gatherRows,
  matmul,
  mul,
  reduce,
  reshape,
  slice,
  softmax,
  split,
  transpose,
  type MatmulOptions,
} from '../graph/ops.ts';
import { cacheTensors } from './kv-cache.ts';
import { blockCount, SAMPLING_BLOCK } from './step-output.ts';
import { rotaryTables } from './rotary-tables.ts';
import { EMBEDDING, FINAL_NORM, HEAD, layerTensors, weightsLayout } from './weights-layout.ts';

/** Cache lengths are multiples of this many positions: of the floats that the runtime handles at once, on any processor. */
const CACHE_STEP = 16;

/** The shortest length of a cache with room for `positions`. */
export function cacheLength(positions: number): number {
  return Math.ceil(positions / CACHE_STEP) * CACHE_STEP;
}

/** Where the weights are: constants of the session, or inputs under the names of weights-layout.ts. */
export type WeightsPlace = 'constants' | 'inputs';

/**
 * Inputs, for `rows` sequences, `steps` new tokens of each and a cache of `length` positions:
 * - ids int32, positions int64 [rows, steps];
 * - cells int64 [rows, kvHeads, steps, 3]: row, head and position where each key and value goes;
 * - mask [rows, 1, heads / kvHeads * steps, length]: 0 where a token attends, -Infinity elsewhere;
 * - selected int32 [N], inverseTemperatures [N, 1]: the tokens, counted over rows x steps, after which a distribution is wanted;
 * - the embedding, past buffers, and with `inputs` all other weights.
 *
 * Outputs: logits (over the temperature), probabilities, blockSums (see StepOutput), buffers.
 */
export function forwardGraph(config: DecoderConfig, place: WeightsPlace): Graph {
  return new ForwardBuilder(config, place).build();
}

type Operands = Record<'positions' | 'cells' | 'mask', Value>;

class ForwardBuilder {
  readonly #graph = new Graph('forward');
  readonly #config: DecoderConfig;
  readonly #weight: (name: string, rows?: readonly [number, number]) => Value;
  readonly #cosines: Value;
  readonly #sines: Value;

  constructor(config: DecoderConfig, place: WeightsPlace) {
    this.#config = config;
    this.#weight = place === 'constants' ? constants(this.#graph, config) : inputs(this.#graph, config);
    const { cosines, sines, shape } = rotaryTables(config);
    this.#cosines = this.#graph.initializer('cosines', shape, cosines);
    this.#sines = this.#graph.initializer('sines', shape, sines);
  }

  build(): Graph {
    const graph = this.#graph;
    const { layers, kvHeads, vocabSize, hiddenSize, tiedHead } = this.#config;
    const ids = graph.input('ids', ['rows', 'steps'], 'int32');
    const operands = {
      positions: graph.input('positions', ['rows', 'steps'], 'int64'),
      cells: graph.input('cells', ['rows', kvHeads, 'steps', 3], 'int64'),
      mask: graph.input('mask', ['rows', 1, 'queries', 'length']),
    };
    const selected = graph.input('selected', ['N'], 'int32');
    const inverseTemperatures = graph.input('inverseTemperatures', ['N', 1]);
    const embedding = graph.input(EMBEDDING, [vocabSize, hiddenSize]);

    let hidden = gatherRows(embedding, ids);
    let normalised = this.#normalise(hidden, layerTensors(0).attentionNorm);
    for (let layer = 0; layer < layers; layer++) {
      const names = layerTensors(layer);
      const isLast = layer === layers - 1;
      const select = (tokens: Value): Value => (isLast ? this.#select(tokens, selected) : tokens);
      const attended = select(this.#attend(normalised, layer, operands));
      // Twice, for #attend halves.
      const projected = this.#linear(attended, this.#weight(names.attentionOutput), { alpha: 2 });
      [normalised, hidden] = this.#addAndNormalise(select(hidden), projected, names.feedForwardNorm);
      const nextNorm = isLast ? FINAL_NORM : layerTensors(layer + 1).attentionNorm;
      [normalised, hidden] = this.#addAndNormalise(hidden, this.#feedForward(normalised, layer), nextNorm);
    }
    const head = this.#weight(tiedHead ? EMBEDDING : HEAD);
    const logits = this.#linear(mul(normalised, inverseTemperatures), head);
    const probabilities = softmax(logits);
    graph.output('logits', logits);
    graph.output('probabilities', probabilities);
    graph.output('blockSums', sumBlocks(probabilities, vocabSize));
    return graph;
  }

  /** x times the transposed weight. */
  #linear(x: Value, weight: Value, options: MatmulOptions = {}): Value {
    return matmul(x, weight, { ...options, transposeB: true });
  }

  #normalise(x: Value, weight: string): Value {
    const attributes = { axis: -1, epsilon: { float: this.#config.normEpsilon } };
    const inputs = [x, this.#weight(weight)];
    return this.#graph.node('SimplifiedLayerNormalization', inputs, [{ shape: x.shape }], attributes)[0]!;
  }

  /** The sum, normalised, and the sum. */
  #addAndNormalise(hidden: Value, x: Value, weight: string): [Value, Value] {
    const [normalised, , , sum] = this.#graph.node(
      'SkipSimplifiedLayerNormalization',
      [x, hidden, this.#weight(weight)],
      [{ shape: x.shape }, { shape: [] }, { shape: [] }, { shape: x.shape }],
      { epsilon: { float: this.#config.normEpsilon } },
      MICROSOFT,
    );
    return [normalised!, sum!];
  }

  /** Rows of [rows, steps, width], counted over rows x steps: [N, width]. */
  #select(tokens: Value, selected: Value): Value {
    const width = tokens.shape.at(-1)!;
    return gatherRows(reshape(tokens, [-1, Number(width)], ['tokens', width]), selected);
  }

  /** Half of what attention gives, after writing the new keys and values: [rows, steps, heads * headSize]. */
  #attend(normalised: Value, layer: number, { positions, cells, mask }: Operands): Value {
    const { heads, kvHeads, headSize, queryKeyNorm } = this.#config;
    const names = layerTensors(layer);
    const [queries, newKeys, newValues] = this.#project(normalised, layer);
    const encoded = (x: Value, norm: string): Value =>
      this.#rotate(queryKeyNorm ? this.#normalise(x, norm) : x, positions);

    const cache = cacheTensors(layer);
    const keys = this.#write(cache.pastKey, cache.key, encoded(newKeys!, names.keyNorm), cells);
    const values = this.#write(cache.pastValue, cache.value, newValues!, cells);

    const scale = 1 / Math.sqrt(headSize);
    const byKeyHead = this.#regroup(encoded(queries!, names.queryNorm), heads, kvHeads);
    const scores = matmul(byKeyHead, keys, { transposeB: true, alpha: scale });
    const attended = matmul(softmax(add(scores, mask)), values, { alpha: 0.5 });
    const byToken = transpose(this.#regroup(attended, kvHeads, heads), [0, 2, 1, 3]);
    const width = heads * headSize;
    return reshape(byToken, [0, 0, width], ['rows', 'steps', width]);
  }

  /** Queries, keys and values: [rows, heads or kvHeads, steps, headSize]. */
  #project(x: Value, layer: number): Value[] {
    const { heads, kvHeads, headSize, attentionBias } = this.#config;
    const names = layerTensors(layer);
    let projected = this.#linear(x, this.#weight(names.queryKeyValue));
    if (attentionBias) projected = add(projected, this.#weight(names.queryKeyValueBias));
    const all = heads + 2 * kvHeads;
    const byToken = reshape(projected, [0, 0, all, headSize], ['rows', 'steps', all, headSize]);
    return split(transpose(byToken, [0, 2, 1, 3]), 1, [heads, kvHeads, kvHeads]);
  }

  #rotate(x: Value, positions: Value): Value {
    const inputs = [x, positions, this.#cosines, this.#sines];
    return this.#graph.node('RotaryEmbedding', inputs, [{ shape: x.shape }], {}, MICROSOFT)[0]!;
  }

  /** The buffer with new keys or values [rows, kvHeads, steps, headSize] written into it, which the caller lets happen in place. */
  #write(past: string, output: string, x: Value, cells: Value): Value {
    const { kvHeads, headSize } = this.#config;
    const shape = ['rows', kvHeads, 'length', headSize];
    const buffer = this.#graph.input(past, shape);
    const written = this.#graph.node('ScatterND', [buffer, cells, x], [{ shape }])[0]!;
    this.#graph.output(output, written);
    return written;
  }

  /** [rows, from, ·, headSize] to [rows, to, ·, headSize]: heads that share a key head follow each other. */
  #regroup(x: Value, from: number, to: number): Value {
    const { headSize } = this.#config;
    return from === to ? x : reshape(x, [0, to, -1, headSize], ['rows', to, 'queries', headSize]);
  }

  /** The SwiGLU feed-forward output. */
  #feedForward(normalised: Value, layer: number): Value {
    const { feedForwardSize } = this.#config;
    const names = layerTensors(layer);
    const gate = this.#linear(normalised, this.#weight(names.gateUp, [0, feedForwardSize]));
    const up = this.#linear(normalised, this.#weight(names.gateUp, [feedForwardSize, 2 * feedForwardSize]));
    // QuickGelu with alpha 1 is x * sigmoid(x).
    const attributes = { alpha: { float: 1 } };
    const silu = this.#graph.node('QuickGelu', [gate], [{ shape: gate.shape }], attributes, MICROSOFT)[0]!;
    return this.#linear(mul(silu, up), this.#weight(names.down));
  }
}

/** Weights, or some of a weight's rows, as tensors in arrays with the names of the weights. */
function constants(
  graph: Graph,
  config: DecoderConfig,
): (name: string, rows?: readonly [number, number]) => Value {
  const shapes = new Map(weightsLayout(config).tensors.map(({ name, shape }) => [name, shape]));
  return (name, rows) => {
    const [count, ...width] = shapes.get(name)!;
    const [start, end] = rows ?? [0, count!];
    return graph.external(`${name} from ${start}`, [end - start, ...width], name, start * (width[0] ?? 1));
  };
}

/** Weights, or some of a weight's rows, as inputs. */
function inputs(
  graph: Graph,
  config: DecoderConfig,
): (name: string, rows?: readonly [number, number]) => Value {
  const slots = weightsLayout(config).tensors.filter(({ name }) => name !== EMBEDDING);
  const values = new Map(slots.map(({ name, shape }) => [name, graph.input(name, shape)]));
  return (name, rows) => {
    const whole = values.get(name) ?? graph.inputs.find((input) => input.name === name)!;
    return rows ? slice(whole, 0, ...rows) : whole;
  };
}

/** Sums of SAMPLING_BLOCK consecutive probabilities: [N, blocks]. */
function sumBlocks(probabilities: Value, vocabSize: number): Value {
  const { graph } = probabilities;
  const blocks = blockCount(vocabSize);
  const padded = blocks * SAMPLING_BLOCK;
  let full = probabilities;
  if (padded > vocabSize) {
    const pads = graph.integers([0, 0, 0, padded - vocabSize]);
    full = graph.node('Pad', [probabilities, pads], [{ shape: ['N', padded] }])[0]!;
  }
  return reduce('ReduceSum', reshape(full, [-1, blocks, SAMPLING_BLOCK], ['N', blocks, SAMPLING_BLOCK]), -1);
}
