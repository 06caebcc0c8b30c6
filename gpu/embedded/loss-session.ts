/** One training graph in a session: a packed rectangle in, what the head says of each trained token and its loss out. */
import type { RowBatch } from '../engine-port.ts';
import { lossConstants, lossReads, type GraphLoss } from './graph-loss.ts';
import { PackedFeeds } from './packed-feeds.ts';
import { rowFeeds } from './row-feeds.ts';
import type { PackedRows } from './row-packing.ts';
import { Session, tensor, type SessionOptions, type Tensor } from './session.ts';
import { METRIC, trainingGraph } from './training-graph.ts';
import type { TrainingPlan } from './training-plan.ts';

export interface LossRun {
  packed: PackedRows;
  /** The arrays that `packed` was made from. */
  batch: RowBatch;
  loss: GraphLoss;
  temperature: number;
  /** What the graph reads, by its names: weights and gathered gradients. */
  weights: Readonly<Record<string, Tensor>>;
  /** Where it writes the gradients. */
  gradients: Readonly<Record<string, Tensor>>;
  /** [positions, hiddenSize]: where it writes the gradient of each position's embedding, if it trains that. */
  embeddedGradient: () => Tensor;
}

/** By name: what stands at each trained token of a rectangle (N). */
export type TokenNumbers = Record<string, Float32Array>;

export class LossSession {
  readonly metrics: readonly string[];
  readonly trainsEmbedding: boolean;
  readonly #session: Session;
  readonly #inputs: ReadonlySet<string>;
  readonly #reads: readonly string[];
  readonly #outputs: readonly string[];
  readonly #packedFeeds: PackedFeeds;

  /** The plan and the loss's form decide the graph; the loss's numbers come with each run. */
  constructor(plan: TrainingPlan, loss: GraphLoss, options: SessionOptions) {
    const { graph, metrics } = trainingGraph(plan, loss);
    const { head } = plan.setup;
    this.metrics = metrics;
    this.#session = new Session(graph, options);
    this.#inputs = new Set(graph.inputs.map(({ name }) => name));
    this.trainsEmbedding = graph.outputs.some(({ name }) => name === 'embeddedGradient');
    this.#reads = [...lossReads(head), 'tokenWeights'];
    const said = head === 'token' ? ['logprobs', 'entropies'] : ['values'];
    this.#outputs = [...said, 'loss', ...metrics.map((name) => METRIC + name)];
    this.#packedFeeds = new PackedFeeds(plan.config);
  }

  run({ packed, batch, loss, temperature, weights, gradients, embeddedGradient }: LossRun): TokenNumbers {
    const given: Readonly<Record<string, Float32Array | undefined>> = {
      tokenWeights: batch.weights,
      advantages: batch.advantages,
      oldLogprobs: batch.oldLogprobs,
      referenceLogprobs: batch.referenceLogprobs,
      importance: batch.importance,
      chosen: batch.chosen,
      oldValues: batch.oldValues,
      returns: batch.returns,
    };
    const { sources } = packed;
    const column = (values: Float32Array): Tensor => tensor(values, [sources.length, 1]);
    const packedColumn = (name: string): Tensor =>
      column(Float32Array.from(sources, (i) => given[name]?.[i] ?? 0));
    const outputs: TokenNumbers = Object.fromEntries(
      this.#outputs.map((name) => [name, new Float32Array(sources.length)]),
    );
    const feeds = {
      ...this.#packedFeeds.of(packed, temperature),
      ...lossConstants(loss),
      ...rowFeeds(packed),
      ...Object.fromEntries(this.#reads.map((name) => [name, packedColumn(name)])),
    };
    this.#session.run(
      { ...weights, ...Object.fromEntries(Object.entries(feeds).filter(([name]) => this.#inputs.has(name))) },
      {
        ...gradients,
        ...Object.fromEntries(Object.entries(outputs).map(([name, values]) => [name, column(values)])),
        ...(this.trainsEmbedding && { embeddedGradient: embeddedGradient() }),
      },
    );
    return outputs;
  }

  close(): void {
    this.#session.close();
  }
}
