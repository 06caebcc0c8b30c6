/**
 * The graph that generation runs, for prompts and for single tokens alike: it takes the next tokens of several sequences ("rows"),
 * adds their keys and values to the cache, and gives the next-token distribution after selected ones.
 *
 * What it computes for a token depends, to the bit, on that token and those before it alone: not on how many tokens or rows are run
 * at once, on the length of the cache, or on the number of threads. For that:
 * - Weights are constants, which the runtime packs when the session is made. It computes packed products row by row, cutting sums
 *   at fixed places. (Of weights that are inputs it cuts them by the width of a thread's part.) Packed, they are also read the fastest.
 * - Attention is made of plain products over the whole cache, and a mask. Masked positions add exact zeros, and cache lengths are
 *   multiples of CACHE_STEP, so no sum is ever cut elsewhere.
 *
 * One exception, for speed: the runtime computes a product of one row in another way than one of several, and attention has one
 * where a single token of each sequence is run and each head has a key head of its own (see `singleTokensDiffer`).
 */
import type { DecoderConfig } from '../model/decoder-config.ts';
import { Graph, MICROSOFT, type Value } from '../graph/graph.ts';
import { add, gatherRows, matmul, mul, reshape, slice, softmax, split, transpose } from '../graph/ops.ts';
import { cacheTensors } from './kv-cache.ts';
import { sumBlocks } from './block-sums.ts';
import { rotaryTables } from './rotary-tables.ts';
import { EMBEDDING, FINAL_NORM, HEAD, layerTensors, weightsLayout } from './weights-layout.ts';

/** Cache lengths are multiples of this many positions: of the floats that the runtime handles at once, on any processor. */
const CACHE_STEP = 16;

/** With heads wider than this, the runtime cuts scores in two, except over caches of at most half as many positions. */
const UNCUT_HEAD_SIZE = 128;

/** The shortest length of a cache with room for `positions`. */
export function cacheLength({ headSize }: DecoderConfig, positions: number): number {
  const shortest = headSize > UNCUT_HEAD_SIZE ? UNCUT_HEAD_SIZE / 2 + 1 : 1;
  return Math.ceil(Math.max(positions, shortest) / CACHE_STEP) * CACHE_STEP;
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

/** Whether a token that is run alone in its row gets other bits than one that is run with its neighbours. */
export function singleTokensDiffer({ heads, kvHeads }: DecoderConfig): boolean {
  return heads === kvHeads;
}

type Operands = Record<'positions' | 'cells' | 'mask', Value>;

class ForwardBuilder {
  readonly #graph = new Graph('forward');
  readonly #config: DecoderConfig;
  readonly #weight: (name: string, rows?: readonly [number, number]) => Value;
  readonly #queryRotation: Rotation;
  readonly #keyRotation: Rotation;

  constructor(config: DecoderConfig, place: WeightsPlace) {
    this.#config = config;
    this.#weight = place === 'constants' ? constants(this.#graph, config) : inputs(this.#graph, config);
    // Scores are scaled on the way: a factor on their product would keep it from the runtime's fast way with one row.
    this.#queryRotation = rotation(this.#graph, config, 'query', 1 / Math.sqrt(config.headSize));
    this.#keyRotation = rotation(this.#graph, config, 'key', 1);
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
      const projected = this.#linear(attended, this.#weight(names.attentionOutput));
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
  #linear(x: Value, weight: Value): Value {
    return matmul(x, weight, { transposeB: true });
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

  /** What attention gives, after writing the new keys and values: [rows, steps, heads * headSize]. */
  #attend(normalised: Value, layer: number, { positions, cells, mask }: Operands): Value {
    const { heads, kvHeads, headSize, queryKeyNorm } = this.#config;
    const names = layerTensors(layer);
    const [queries, newKeys, newValues] = this.#project(normalised, layer);
    const encoded = (x: Value, norm: string, { cosines, sines }: Rotation): Value => {
      const inputs = [queryKeyNorm ? this.#normalise(x, norm) : x, positions, cosines, sines];
      return this.#graph.node('RotaryEmbedding', inputs, [{ shape: x.shape }], {}, MICROSOFT)[0]!;
    };

    const cache = cacheTensors(layer);
    const keys = this.#write(
      cache.pastKey,
      cache.key,
      encoded(newKeys!, names.keyNorm, this.#keyRotation),
      cells,
    );
    const values = this.#write(cache.pastValue, cache.value, newValues!, cells);

    const rotated = encoded(queries!, names.queryNorm, this.#queryRotation);
    const scores = matmul(this.#regroup(rotated, heads, kvHeads), keys, { transposeB: true });
    const attended = matmul(softmax(add(scores, mask)), values);
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

interface Rotation {
  cosines: Value;
  sines: Value;
}

/** Tables that rotate and scale. */
function rotation(graph: Graph, config: DecoderConfig, name: string, scale: number): Rotation {
  const { cosines, sines, shape } = rotaryTables(config);
  const scaled = (table: Float32Array): Float32Array => table.map((entry) => scale * entry);
  return {
    cosines: graph.initializer(`${name} cosines`, shape, scaled(cosines)),
    sines: graph.initializer(`${name} sines`, shape, scaled(sines)),
  };
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
