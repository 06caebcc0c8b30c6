/** One training graph in a session: a packed rectangle in, what the head says of each trained token and its loss out. */
import type { RowBatch } from '../engine-port.ts';
import type { DecoderConfig } from '../model/decoder-config.ts';
import { lossConstants, lossReads, type GraphLoss } from './graph-loss.ts';
import { PackedFeeds } from './packed-feeds.ts';
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
}

/** By name: what stands at each trained token of a rectangle (N). */
export type TokenNumbers = Record<string, Float32Array>;

export class LossSession {
  readonly metrics: readonly string[];
  readonly #config: DecoderConfig;
  readonly #session: Session;
  readonly #inputs: ReadonlySet<string>;
  readonly #trainsEmbedding: boolean;
  readonly #reads: readonly string[];
  readonly #outputs: readonly string[];
  readonly #packedFeeds: PackedFeeds;
  #embeddedGradient = new Float32Array(0);

  /** The plan and the loss's form decide the graph; the loss's numbers come with each run. */
  constructor(plan: TrainingPlan, loss: GraphLoss, options: SessionOptions) {
    const { graph, metrics } = trainingGraph(plan, loss);
    const { head } = plan.setup;
    this.metrics = metrics;
    this.#config = plan.config;
    this.#session = new Session(graph, options);
    this.#inputs = new Set(graph.inputs.map(({ name }) => name));
    this.#trainsEmbedding = graph.outputs.some(({ name }) => name === 'embeddedGradient');
    this.#reads = [...lossReads(head), 'tokenWeights'];
    const said = head === 'token' ? ['logprobs', 'entropies'] : ['values'];
    this.#outputs = [...said, 'loss', ...metrics.map((name) => METRIC + name)];
    this.#packedFeeds = new PackedFeeds(plan.config);
  }

  /** @returns The outputs by name, and the gradient of each position's embedding, if the graph has it. */
  run({ packed, batch, loss, temperature, weights, gradients }: LossRun): {
    outputs: TokenNumbers;
    /** [positions, hiddenSize]; overwritten by the next run. */
    embeddedGradient: Float32Array | null;
  } {
    const given: Readonly<Record<string, Float32Array | undefined>> = {
      tokenWeights: batch.weights,
      advantages: batch.advantages,
      oldLogprobs: batch.oldLogprobs,
      referenceLogprobs: batch.referenceLogprobs,
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
    const embeddedGradient = this.#embeddedGradientOf(packed);
    const feeds = {
      ...this.#packedFeeds.of(packed, temperature),
      ...lossConstants(loss),
      ...Object.fromEntries(this.#reads.map((name) => [name, packedColumn(name)])),
    };
    this.#session.run(
      { ...weights, ...Object.fromEntries(Object.entries(feeds).filter(([name]) => this.#inputs.has(name))) },
      {
        ...gradients,
        ...Object.fromEntries(Object.entries(outputs).map(([name, values]) => [name, column(values)])),
        ...(embeddedGradient && {
          embeddedGradient: tensor(embeddedGradient, [packed.ids.length, this.#config.hiddenSize]),
        }),
      },
    );
    return { outputs, embeddedGradient };
  }

  #embeddedGradientOf(packed: PackedRows): Float32Array | null {
    if (!this.#trainsEmbedding) return null;
    const length = packed.ids.length * this.#config.hiddenSize;
    if (this.#embeddedGradient.length < length) this.#embeddedGradient = new Float32Array(length);
    return this.#embeddedGradient.subarray(0, length);
  }

  close(): void {
    this.#session.close();
  }
}
