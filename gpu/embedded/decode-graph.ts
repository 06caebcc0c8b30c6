/**
 * The graphs that generation runs: `decode` takes one token of every slot and gives next-token probabilities; `prefill` takes
 * prompts and only fills their keys and values. Both write keys and values into buffers that they also read.
 *
 * No token's result depends, in any bit, on where in the batch it stands. The runtime splits a matrix product between threads
 * along its longer side, and how it cuts the sum over inputs depends on the width of a thread's part. So tokens must never be
 * both the columns of the product and its longer side:
 * - As long as there are at most as many tokens as outputs, weights are the left operand, [outputs, inputs] x [inputs, tokens].
 *   The runtime packs only the right operand; the weights, plain inputs that all sessions share, are streamed once.
 * - With more tokens (a small model, many slots), tokens are the left operand.
 */
import type { DecoderConfig } from '../model/decoder-config.ts';
import { Graph, MICROSOFT, type Value } from '../graph/graph.ts';
import {
  add,
  concat,
  div,
  gatherRows,
  matmul,
  mul,
  reduce,
  reshape,
  shapeOf,
  softmax,
  split,
  transpose,
} from '../graph/ops.ts';
import { cacheTensors } from './kv-cache.ts';
import { blockCount, SAMPLING_BLOCK } from './sampler.ts';
import { rotaryTables } from './rotary-tables.ts';
import { EMBEDDING, FINAL_NORM, headTensor, layerTensors, weightsLayout } from './weights-layout.ts';

/**
 * Inputs: ids [rows, 1], lastPositions [rows] (where each token stands), cacheLength [] (the largest of them, plus 1),
 * temperatures [rows, 1], weights, past buffers. Outputs: logits, probabilities, blockSums (see StepOutput), buffers.
 */
export function decodeGraph(config: DecoderConfig, slots: number): Graph {
  const builder = new DecoderBuilder(config, { name: 'decode', steps: 1, tokens: slots });
  const { graph } = builder;
  const temperatures = graph.input('temperatures', ['rows', 1]);
  let hidden = builder.embed();
  for (let layer = 0; layer < config.layers; layer++) {
    const attended = builder.attend(hidden, layer);
    hidden = builder.feedForward(builder.project(hidden, attended, layer), layer);
  }
  const normalised = builder.normalise(hidden, FINAL_NORM);
  const logits = builder.linear(headTensor(config), normalised);
  const probabilities = softmax(div(logits, temperatures));
  graph.output('logits', logits);
  graph.output('probabilities', probabilities);
  graph.output('blockSums', sumBlocks(probabilities, config.vocabSize));
  return graph;
}

/**
 * Inputs: ids [rows, steps] of at most `tokens` tokens in several rows, or any number in one; lastPositions [rows],
 * cacheLength [], weights, past buffers. Outputs: the buffers.
 */
export function prefillGraph(config: DecoderConfig, tokens: number): Graph {
  const builder = new DecoderBuilder(config, { name: 'prefill', steps: 'steps', tokens });
  let hidden = builder.embed();
  for (let layer = 0; layer < config.layers; layer++) {
    const attended = builder.attend(hidden, layer);
    // What follows the last layer's keys and values is never read.
    if (layer === config.layers - 1) break;
    hidden = builder.feedForward(builder.project(hidden, attended, layer), layer);
  }
  return builder.graph;
}

function sumBlocks(probabilities: Value, vocabSize: number): Value {
  const { graph } = probabilities;
  const blocks = blockCount(vocabSize);
  const padded = blocks * SAMPLING_BLOCK;
  let full = probabilities;
  if (padded > vocabSize) {
    const pads = graph.integers([0, 0, 0, padded - vocabSize]);
    full = graph.node('Pad', [probabilities, pads], [{ shape: ['rows', padded] }])[0]!;
  }
  const grouped = reshape(full, [-1, blocks, SAMPLING_BLOCK], ['rows', blocks, SAMPLING_BLOCK]);
  return reduce('ReduceSum', grouped, -1);
}

/** The parts that both graphs are made of. Hidden states are [tokens, hiddenSize], tokens = rows x steps. */
class DecoderBuilder {
  readonly graph: Graph;
  readonly #config: DecoderConfig;
  readonly #ids: Value;
  readonly #lastPositions: Value;
  readonly #cacheLength: Value;
  readonly #weights: Map<string, Value>;
  readonly #cosines: Value;
  readonly #sines: Value;
  readonly #packedShape: Value;
  readonly #weightsLeft: boolean;

  constructor(config: DecoderConfig, options: { name: string; steps: number | string; tokens: number }) {
    const { name, steps, tokens } = options;
    const { vocabSize, hiddenSize, feedForwardSize } = config;
    this.graph = new Graph(name);
    this.#config = config;
    this.#weightsLeft = tokens <= Math.min(vocabSize, hiddenSize, 2 * feedForwardSize, this.#packedWidth);
    this.#ids = this.graph.input('ids', ['rows', steps], 'int32');
    this.#lastPositions = this.graph.input('lastPositions', ['rows'], 'int32');
    this.#cacheLength = this.graph.input('cacheLength', [], 'int32');
    this.#weights = new Map(
      weightsLayout(config).tensors.map(({ name, shape }) => [name, this.graph.input(name, shape)]),
    );
    const { cosines, sines, shape } = rotaryTables(config);
    this.#cosines = this.graph.initializer('cosines', shape, cosines);
    this.#sines = this.graph.initializer('sines', shape, sines);
    const width = this.graph.integers([this.#packedWidth]);
    this.#packedShape = concat([shapeOf(this.#ids), width], 0, [3]);
  }

  get #packedWidth(): number {
    const { heads, kvHeads, headSize } = this.#config;
    return (heads + 2 * kvHeads) * headSize;
  }

  weight(name: string): Value {
    return this.#weights.get(name)!;
  }

  /** x times the transposed weight: [tokens, outputs]. */
  linear(weight: string, x: Value): Value {
    return this.#weightsLeft ? transpose(this.#product(weight, x), [1, 0]) : this.#product(weight, x);
  }

  /** The product as the runtime computes it: [outputs, tokens] when weights are on the left, else [tokens, outputs]. */
  #product(weight: string, x: Value): Value {
    const matrix = this.weight(weight);
    const [left, right] = this.#weightsLeft ? [matrix, x] : [x, matrix];
    return matmul(left, right, { transposeB: true });
  }

  embed(): Value {
    const { hiddenSize } = this.#config;
    const embedded = gatherRows(this.weight(EMBEDDING), this.#ids);
    return reshape(embedded, [-1, hiddenSize], ['tokens', hiddenSize]);
  }

  normalise(hidden: Value, weight: string): Value {
    const attributes = { axis: -1, epsilon: { float: this.#config.normEpsilon } };
    const inputs = [hidden, this.weight(weight)];
    return this.graph.node('SimplifiedLayerNormalization', inputs, [{ shape: hidden.shape }], attributes)[0]!;
  }

  /** Writes the layer's keys and values and reads all up to each token: [tokens, heads * headSize]. */
  attend(hidden: Value, layer: number): Value {
    const { heads, kvHeads, headSize, attentionWindow } = this.#config;
    const cache = cacheTensors(layer);
    const cacheShape = ['rows', kvHeads, 'length', headSize];
    const pastKey = this.graph.input(cache.pastKey, cacheShape);
    const pastValue = this.graph.input(cache.pastValue, cacheShape);
    const steps = this.#ids.shape[1]!;
    const [attended, key, value] = this.graph.node(
      'GroupQueryAttention',
      [
        ...this.#queriesKeysValues(hidden, layer),
        pastKey,
        pastValue,
        this.#lastPositions,
        this.#cacheLength,
        this.#cosines,
        this.#sines,
      ],
      [{ shape: ['rows', steps, heads * headSize] }, { shape: cacheShape }, { shape: cacheShape }],
      {
        num_heads: heads,
        kv_num_heads: kvHeads,
        do_rotary: 1,
        scale: { float: 1 / Math.sqrt(headSize) },
        local_window_size: attentionWindow ?? -1,
      },
      MICROSOFT,
    );
    this.graph.output(cache.key, key!);
    this.graph.output(cache.value, value!);
    return reshape(attended!, [-1, heads * headSize], ['tokens', heads * headSize]);
  }

  /** What attention reads, before the rotary encoding: all in one [rows, steps, packedWidth], or queries, keys and values. */
  #queriesKeysValues(hidden: Value, layer: number): (Value | null)[] {
    const { heads, kvHeads, headSize, attentionBias, queryKeyNorm } = this.#config;
    const names = layerTensors(layer);
    const steps = this.#ids.shape[1]!;
    let projected = this.linear(names.queryKeyValue, this.normalise(hidden, names.attentionNorm));
    if (attentionBias) projected = add(projected, this.weight(names.queryKeyValueBias));
    const packed = reshape(projected, this.#packedShape, ['rows', steps, this.#packedWidth]);
    if (!queryKeyNorm) return [packed, null, null];
    const [queries, keys, values] = split(
      packed,
      2,
      [heads, kvHeads, kvHeads].map((count) => count * headSize),
    );
    return [
      this.#normaliseHeads(queries!, names.queryNorm),
      this.#normaliseHeads(keys!, names.keyNorm),
      values!,
    ];
  }

  /** Normalises each head of x [rows, steps, count * headSize]. */
  #normaliseHeads(x: Value, weight: string): Value {
    const { headSize } = this.#config;
    const heads = reshape(x, [-1, headSize], ['heads', headSize]);
    return reshape(this.normalise(heads, weight), shapeOf(x), x.shape);
  }

  /** Adds the attention output to the hidden state. */
  project(hidden: Value, attended: Value, layer: number): Value {
    return add(hidden, this.linear(layerTensors(layer).attentionOutput, attended));
  }

  /** Adds the SwiGLU feed-forward output to the hidden state; between its products it keeps the orientation of the first. */
  feedForward(hidden: Value, layer: number): Value {
    const { feedForwardSize } = this.#config;
    const names = layerTensors(layer);
    const both = this.#product(names.gateUp, this.normalise(hidden, names.feedForwardNorm));
    const [gate, up] = split(both, this.#weightsLeft ? 0 : 1, [feedForwardSize, feedForwardSize]);
    // QuickGelu with alpha 1 is x * sigmoid(x).
    const attributes = { alpha: { float: 1 } };
    const silu = this.graph.node('QuickGelu', [gate!], [{ shape: gate!.shape }], attributes, MICROSOFT)[0]!;
    const activated = mul(silu, up!);
    const down = this.weight(names.down);
    const output = this.#weightsLeft
      ? transpose(matmul(down, activated), [1, 0])
      : matmul(activated, down, { transposeB: true });
    return add(hidden, output);
  }
}
