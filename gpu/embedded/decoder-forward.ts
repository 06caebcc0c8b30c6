/**
 * The forward pass of a decoder over B right-padded rows of S tokens, from token ids to the normalized hidden vectors of N
 * selected positions. Token vectors are kept as [T, hiddenSize] with T = B * S. The last layer works on the selected positions only,
 * once its attention is done: nothing reads the others.
 */
import type { AdapterModule } from '../../core/recipe.ts';
import { adapterScale, pairTensors } from '../adapters/adapter-layout.ts';
import type { Tape } from '../graph/autodiff.ts';
import type { Graph, Value } from '../graph/graph.ts';
import * as differentiable from '../graph/differentiable.ts';
import { addLowRank } from '../graph/low-rank.ts';
import * as ops from '../graph/ops.ts';
import type { DecoderConfig } from '../model/decoder-config.ts';
import type { TrainingSetup } from '../training-setup.ts';
import { rotaryTables } from './rotary-tables.ts';
import type { TrainingPlan } from './training-plan.ts';
import { EMBEDDING, FINAL_NORM, layerTensors } from './weights-layout.ts';

export interface DecoderForward {
  config: DecoderConfig;
  setup: TrainingSetup;
  tape: Tape;
  /** The engine's tensors by name. */
  weights: ReadonlyMap<string, Value>;
  /** int32 [B, S]. */
  ids: Value;
  /** float32 [1, 1, queriesPerKey * S, S], added to attention scores: 0 or a large negative number. */
  mask: Value;
  /** int32 [N]: positions in the flattened [B * S], all different. */
  selected: Value;
  tables: differentiable.RotaryTables;
  /** bool scalar, false in every run. */
  never: Value;
}

/** Declares the inputs of a forward pass. */
export function decoderInputs(graph: Graph, tape: Tape, plan: TrainingPlan): DecoderForward {
  const { config, setup, fixed, trained } = plan;
  const queriesPerKey = config.heads / config.kvHeads;
  const ids = graph.input('ids', ['B', 'S'], 'int32');
  const firstId = ops.slice(ops.reshape(ids, [-1], ['T']), 0, 0, 1);
  const zero = graph.constant([], Int32Array.of(0));
  return {
    config,
    setup,
    tape,
    weights: new Map(
      [...fixed, ...trained.tensors].map(({ name, shape }) => [name, graph.input(name, shape)]),
    ),
    ids,
    mask: graph.input('mask', [1, 1, queriesPerKey === 1 ? 'S' : 'Q', 'S']),
    selected: graph.input('selected', ['N'], 'int32'),
    tables: storeRotaryTables(graph, config),
    never: ops.reshape(ops.less(firstId, zero), [], []),
  };
}

/** Where the embedding's output enters the layers; its gradient is that of the looked-up rows. */
export interface DecoderHidden {
  embedded: Value;
  /** [N, hiddenSize] */
  hidden: Value;
}

export function decoderForward(forward: DecoderForward): DecoderHidden {
  const { config, setup, tape, weights, ids, never } = forward;
  const embedded = ops.gatherRows(weights.get(EMBEDDING)!, ops.reshape(ids, [-1], ['T']));
  if (tape.tracks(weights.get(EMBEDDING)!)) tape.variable(embedded);
  let x = embedded;
  for (let layer = 0; layer < config.layers; layer++) {
    tape.orderBackward(x, never);
    const compute = (input: Value): Value => decoderLayer(forward, input, layer);
    // The backward pass begins with the last layer, whose values are still there.
    const isRepeated = setup.checkpointing && layer < config.layers - 1;
    x = isRepeated ? tape.checkpoint(x, never, compute) : compute(x);
  }
  const hidden = differentiable.rmsNorm(tape, x, weights.get(FINAL_NORM)!, config.normEpsilon);
  return { embedded, hidden };
}

/** Attention and feed-forward with their residual connections; the last layer returns the selected rows only. */
function decoderLayer(forward: DecoderForward, x: Value, layer: number): Value {
  const { config, tape, weights, selected } = forward;
  const names = layerTensors(layer);
  const isLast = layer === config.layers - 1;
  const select = (rows: Value): Value => (isLast ? differentiable.selectRows(tape, rows, selected) : rows);
  const attended = select(selfAttention(forward, x, layer));
  const output = differentiable.linear(tape, attended, weights.get(names.attentionOutput)!);
  const residual = differentiable.addition(
    tape,
    select(x),
    adapted(forward, output, attended, layer, 'o_proj'),
  );
  return differentiable.addition(tape, residual, feedForward(forward, residual, layer));
}

/** The output of a module for x, with the adapter's term where the module has one. */
function adapted(
  forward: DecoderForward,
  output: Value,
  x: Value,
  layer: number,
  module: AdapterModule,
): Value {
  const { setup, tape, weights } = forward;
  const names = pairTensors(layer, module);
  const [a, b] = [weights.get(names.a), weights.get(names.b)];
  return setup.adapter && a && b ? addLowRank(tape, output, x, a, b, adapterScale(setup.adapter)) : output;
}

/** Causal grouped-query attention of x [T, hiddenSize], before the output projection: [T, heads * headSize]. */
function selfAttention(forward: DecoderForward, x: Value, layer: number): Value {
  const { config, tape, weights, ids, mask, tables } = forward;
  const { heads, kvHeads, headSize } = config;
  const { graph } = ids;
  const names = layerTensors(layer);
  const rows = ops.shapeOf(ids);
  const headsShape = (count: number): Value => ops.concat([rows, graph.integers([count, headSize])], 0, [4]);

  /** [T, count * headSize] to [B, count, S, headSize]; normalizes each head where the model has `norm`. */
  const splitHeads = (value: Value, count: number, norm?: string): Value => {
    const vectors = differentiable.reshape(
      tape,
      value,
      [-1, headSize],
      ['V', headSize],
      [-1, count * headSize],
    );
    const gain = norm === undefined ? undefined : weights.get(norm);
    const separate = differentiable.reshape(
      tape,
      gain ? differentiable.rmsNorm(tape, vectors, gain, config.normEpsilon) : vectors,
      headsShape(count),
      ['B', 'S', count, headSize],
      [-1, headSize],
    );
    return differentiable.transpose(tape, separate, [0, 2, 1, 3]);
  };
  /** [B, from, ·, headSize] to [B, to, ·, headSize]: query heads that share a key head become rows of that head. */
  const regroup = (value: Value, from: number, to: number, queries: string): Value =>
    from === to
      ? value
      : differentiable.reshape(
          tape,
          value,
          [0, to, -1, headSize],
          ['B', to, queries, headSize],
          [0, from, -1, headSize],
        );

  const normalized = differentiable.rmsNorm(tape, x, weights.get(names.attentionNorm)!, config.normEpsilon);
  let projected = differentiable.linear(tape, normalized, weights.get(names.queryKeyValue)!);
  const bias = weights.get(names.queryKeyValueBias);
  if (bias) projected = differentiable.addBias(tape, projected, bias);
  const sizes = [heads * headSize, kvHeads * headSize, kvHeads * headSize];
  const modules = ['q_proj', 'k_proj', 'v_proj'] as const;
  const [q, k, v] = differentiable
    .splitColumns(tape, projected, sizes)
    .map((part, i) => adapted(forward, part, normalized, layer, modules[i]!));
  const queries = differentiable.rotary(tape, splitHeads(q!, heads, names.queryNorm), tables);
  const keys = differentiable.rotary(tape, splitHeads(k!, kvHeads, names.keyNorm), tables);
  const attended = differentiable.attention(
    tape,
    regroup(queries, heads, kvHeads, 'Q'),
    keys,
    splitHeads(v!, kvHeads),
    mask,
    1 / Math.sqrt(headSize),
  );
  const byToken = differentiable.transpose(tape, regroup(attended, kvHeads, heads, 'S'), [0, 2, 1, 3]);
  const width = heads * headSize;
  return differentiable.reshape(tape, byToken, [-1, width], ['T', width], headsShape(heads));
}

function feedForward(forward: DecoderForward, x: Value, layer: number): Value {
  const { config, tape, weights } = forward;
  const names = layerTensors(layer);
  const normalized = differentiable.rmsNorm(tape, x, weights.get(names.feedForwardNorm)!, config.normEpsilon);
  const gateUp = differentiable.linear(tape, normalized, weights.get(names.gateUp)!);
  const sizes = [config.feedForwardSize, config.feedForwardSize];
  const [gate, up] = differentiable.splitColumns(tape, gateUp, sizes);
  const activated = differentiable.swiglu(
    tape,
    adapted(forward, gate!, normalized, layer, 'gate_proj'),
    adapted(forward, up!, normalized, layer, 'up_proj'),
  );
  const output = differentiable.linear(tape, activated, weights.get(names.down)!);
  return adapted(forward, output, activated, layer, 'down_proj');
}

function storeRotaryTables(graph: Graph, config: DecoderConfig): differentiable.RotaryTables {
  const { shape, cosines, sines } = rotaryTables(config);
  return {
    start: graph.integers([0]),
    cos: graph.initializer('rotaryCosines', shape, cosines),
    sin: graph.initializer('rotarySines', shape, sines),
    negativeSin: graph.initializer(
      'rotaryNegativeSines',
      shape,
      sines.map((sine) => -sine),
    ),
  };
}
