/**
 * The graphs that a trainer runs. Weights, and the gradients gathered so far, are inputs, so one session serves every weight set
 * and adds up microbatches: fed the same tensors as `accumulated` and as `gradient` outputs, it updates them in place.
 */
import { tokenLoss } from '../../core/loss/index.ts';
import type { TokenLossSettings } from '../../core/loss/settings.ts';
import { Tape } from '../graph/autodiff.ts';
import { Graph } from '../graph/graph.ts';
import type { DecoderConfig } from '../model/decoder-config.ts';
import { decoderForward, decoderInputs } from './decoder-forward.ts';
import { emittingOps } from './emit-loss.ts';
import { tokenHead } from './token-head.ts';
import { headTensor } from './weights-layout.ts';

export const ACCUMULATED = 'accumulated.';
export const GRADIENT = 'gradient.';
export const METRIC = 'metric.';

export interface TrainingGraph {
  graph: Graph;
  metrics: string[];
}

/**
 * Forward and backward pass of a loss. Per trained position (N): `logprobs`, `entropy`, `loss` and each `metric.<name>`, all
 * [N, 1]. `embeddedGradient` [B * S, hiddenSize] is the gradient of the embedding rows looked up; the caller adds it to
 * `gradient.embedding`, which holds the head's part where the head is tied.
 */
export function trainingGraph(config: DecoderConfig, settings: TokenLossSettings): TrainingGraph {
  const graph = new Graph(`training, ${settings.name}`);
  const tape = new Tape();
  const inputs = decoderInputs(graph, tape, config);
  const targets = graph.input('targets', ['N', 1], 'int32');
  const inverseTemperature = graph.input('inverseTemperature', []);
  const [tokenWeights, advantages, oldLogprobs, referenceLogprobs] = [
    'tokenWeights',
    'advantages',
    'oldLogprobs',
    'referenceLogprobs',
  ].map((name) => graph.input(name, ['N', 1]));
  for (const [name, weight] of inputs.weights) {
    tape.parameter(weight, graph.input(ACCUMULATED + name, weight.shape));
  }

  const { embedded, hidden } = decoderForward(inputs);
  tape.orderBackward(hidden, inputs.never);
  const head = inputs.weights.get(headTensor(config))!;
  const { logprobs, entropy } = tokenHead(tape, hidden, head, targets, inverseTemperature);
  const lossInputs = {
    logprobs,
    oldLogprobs: oldLogprobs!,
    referenceLogprobs: referenceLogprobs!,
    advantages: advantages!,
  };
  const { loss, metrics } = tokenLoss(emittingOps(graph, tape), lossInputs, settings);
  tape.backward(loss, tokenWeights!);

  graph.output('logprobs', logprobs);
  graph.output('entropy', entropy());
  graph.output('loss', loss);
  for (const [name, metric] of Object.entries(metrics)) graph.output(METRIC + name, metric);
  for (const [name, weight] of inputs.weights) graph.output(GRADIENT + name, tape.gradient(weight)!);
  graph.output('embeddedGradient', tape.gradient(embedded)!);
  return { graph, metrics: Object.keys(metrics) };
}

/** Log-probs of given tokens, forward only: `logprobs` [N, 1]. */
export function scoringGraph(config: DecoderConfig): Graph {
  const graph = new Graph('scoring');
  const tape = new Tape();
  const inputs = decoderInputs(graph, tape, config);
  const targets = graph.input('targets', ['N', 1], 'int32');
  const inverseTemperature = graph.input('inverseTemperature', []);
  const { hidden } = decoderForward(inputs);
  const head = inputs.weights.get(headTensor(config))!;
  const { logprobs } = tokenHead(tape, hidden, head, targets, inverseTemperature);
  graph.output('logprobs', logprobs);
  return graph;
}
