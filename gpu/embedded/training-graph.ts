/**
 * The graphs that a trainer runs. Weights, and the gradients gathered so far, are inputs, so one session serves every weight set
 * and adds up microbatches: fed the same tensors as `accumulated` and as `gradient` outputs, it updates them in place.
 */
import { Tape } from '../graph/autodiff.ts';
import { linear } from '../graph/differentiable.ts';
import { Graph, type Value } from '../graph/graph.ts';
import { decoderForward, decoderInputs, type DecoderForward } from './decoder-forward.ts';
import { emittingOps } from './emit-loss.ts';
import { graphLoss, lossReads, type GraphLoss } from './graph-loss.ts';
import { tokenHead } from './token-head.ts';
import type { TrainingPlan } from './training-plan.ts';
import { EMBEDDING, headTensor, SCORE } from './weights-layout.ts';

export const ACCUMULATED = 'accumulated.';
export const GRADIENT = 'gradient.';
export const METRIC = 'metric.';

/** What a head says of each of N positions, [N, 1] each. */
type HeadOutputs = { logprobs: Value; entropies: Value } | { values: Value };

export interface TrainingGraph {
  graph: Graph;
  metrics: string[];
}

/**
 * Forward and backward pass of a loss. Per trained position (N): what the head says (`logprobs` and `entropies`, or `values`), `loss`
 * and each `metric.<name>`, all [N, 1]. `embeddedGradient` [B * S, hiddenSize], if the embedding is trained, is the gradient of its
 * rows looked up; the caller adds it to `gradient.embedding`, which holds the head's part where the head is tied.
 */
export function trainingGraph(plan: TrainingPlan, loss: GraphLoss): TrainingGraph {
  const graph = new Graph(`training, ${loss.name}`);
  const tape = new Tape();
  const inputs = decoderInputs(graph, tape, plan);
  const perToken = (name: string): Value => graph.input(name, ['N', 1]);
  const tokenWeights = perToken('tokenWeights');
  const given = Object.fromEntries(lossReads(plan.setup.head).map((name) => [name, perToken(name)]));
  const trained = plan.trained.tensors.map(({ name }) => ({ name, weight: inputs.weights.get(name)! }));
  for (const { name, weight } of trained) {
    tape.parameter(weight, graph.input(ACCUMULATED + name, weight.shape));
  }

  const { embedded, hidden } = decoderForward(inputs);
  tape.orderBackward(hidden, inputs.never);
  const said = headOutputs(inputs, hidden);
  const { loss: terms, metrics } = graphLoss(emittingOps(graph, tape), { ...given, ...said }, loss);
  tape.backward(terms, tokenWeights);

  for (const [name, value] of Object.entries(said)) graph.output(name, value);
  graph.output('loss', terms);
  for (const [name, metric] of Object.entries(metrics)) graph.output(METRIC + name, metric);
  for (const { name, weight } of trained) graph.output(GRADIENT + name, tape.gradient(weight)!);
  if (tape.tracks(inputs.weights.get(EMBEDDING)!)) {
    graph.output('embeddedGradient', tape.gradient(embedded)!);
  }
  return { graph, metrics: Object.keys(metrics) };
}

/** What the head says of given tokens, forward only: `logprobs` or `values`, [N, 1]. */
export function scoringGraph(plan: TrainingPlan): Graph {
  const graph = new Graph('scoring');
  const inputs = decoderInputs(graph, new Tape(), plan);
  const { hidden } = decoderForward(inputs);
  const said = headOutputs(inputs, hidden);
  if ('values' in said) graph.output('values', said.values);
  else graph.output('logprobs', said.logprobs);
  return graph;
}

function headOutputs({ config, setup, tape, weights }: DecoderForward, hidden: Value): HeadOutputs {
  if (setup.head !== 'token') return { values: linear(tape, hidden, weights.get(SCORE)!) };
  const { graph } = hidden;
  const targets = graph.input('targets', ['N', 1], 'int32');
  const inverseTemperature = graph.input('inverseTemperature', []);
  return tokenHead(tape, hidden, weights.get(headTensor(config))!, targets, inverseTemperature);
}
