/**
 * Trains one weight set: gradients add up over calls of `forwardBackward` until `optimizerStep` uses and clears them.
 * Everything it computes is a function of the weights, moments and rows given: same inputs, same bits, on any number of threads.
 */
import { RekindleError } from '../../core/errors.ts';
import { tokenLoss } from '../../core/loss/index.ts';
import type { LossSettings, TokenLossSettings } from '../../core/loss/settings.ts';
import type { ForwardBackwardResult, RowBatch, StepSettings } from '../engine-port.ts';
import type { DecoderConfig } from '../model/decoder-config.ts';
import { constantRecorder, lossConstantName } from './emit-loss.ts';
import { AdamW } from './optimizer.ts';
import { PackedFeeds } from './packed-feeds.ts';
import { packRows, positionLimit, type PackedRows } from './row-packing.ts';
import { Session, tensor, type SessionOptions, type Tensor } from './session.ts';
import { ACCUMULATED, GRADIENT, METRIC, trainingGraph } from './training-graph.ts';
import { weightTensors } from './weight-tensors.ts';
import { EMBEDDING, weightsLayout, type TensorSlot } from './weights-layout.ts';

export interface Moments {
  first: Float32Array;
  second: Float32Array;
}

export interface TrainerOptions extends SessionOptions {
  /** Most positions in one run of the graph, padding included; bounds the memory for activations. */
  tokenLimit?: number;
}

interface LossSession {
  session: Session;
  metrics: string[];
}

export class Trainer {
  readonly #config: DecoderConfig;
  readonly #options: TrainerOptions;
  readonly #embedding: TensorSlot;
  readonly #arrays;
  readonly #optimizer: AdamW;
  readonly #packedFeeds: PackedFeeds;
  readonly #weightFeeds: Record<string, Tensor>;
  readonly #gradientFetches: Record<string, Tensor>;
  readonly #sessions = new Map<string, LossSession>();
  #embeddedGradient = new Float32Array(0);
  #step = 0;

  constructor(config: DecoderConfig, options: TrainerOptions) {
    const layout = weightsLayout(config);
    this.#config = config;
    this.#options = options;
    this.#embedding = layout.tensors.find(({ name }) => name === EMBEDDING)!;
    this.#optimizer = new AdamW(layout);
    this.#arrays = this.#optimizer.arrays;
    this.#packedFeeds = new PackedFeeds(config);
    this.#weightFeeds = {
      ...weightTensors(layout, this.#arrays.weights),
      ...weightTensors(layout, this.#arrays.gradients, ACCUMULATED),
    };
    this.#gradientFetches = weightTensors(layout, this.#arrays.gradients, GRADIENT);
  }

  /** The trained weights, flat; changed by the next step. */
  get weights(): Float32Array {
    return this.#arrays.weights;
  }

  /** Gradients gathered since the last step, flat. */
  get gradients(): Float32Array {
    return this.#arrays.gradients;
  }

  get moments(): Moments {
    return { first: this.#arrays.firstMoments, second: this.#arrays.secondMoments };
  }

  /** Optimizer steps since the moments were zero. */
  get step(): number {
    return this.#step;
  }

  /** Starts from a copy of `weights` and `moments` (zero when null), after `step` optimizer steps; drops gathered gradients. */
  beginUpdate(weights: Float32Array, moments: Moments | null, step: number): void {
    const { firstMoments, secondMoments, gradients } = this.#arrays;
    this.#arrays.weights.set(weights);
    gradients.fill(0);
    if (moments) {
      firstMoments.set(moments.first);
      secondMoments.set(moments.second);
    } else {
      firstMoments.fill(0);
      secondMoments.fill(0);
    }
    this.#step = step;
  }

  /**
   * Adds the gradients of sum over trained tokens of weight * loss.
   * @throws RekindleError DataError for a batch that packRows refuses.
   */
  forwardBackward(batch: RowBatch, loss: LossSettings, temperature: number): ForwardBackwardResult {
    if (loss.name !== 'cross-entropy' && loss.name !== 'ppo-clip') {
      throw new RekindleError(
        'EngineError',
        `loss ${loss.name} needs another head than the language model's`,
        {
          permanent: true,
        },
      );
    }
    const { session, metrics } = this.#lossSession(loss);
    const constants = lossConstants(loss);
    const result: ForwardBackwardResult = {
      loss: 0,
      logprobs: new Float32Array(batch.ids.length),
      entropies: new Float32Array(batch.ids.length),
      entropy: 0,
      values: new Float32Array(0),
      metrics: Object.fromEntries(metrics.map((name) => [name, 0])),
    };
    let trained = 0;
    const tokenLimit = this.#options.tokenLimit ?? positionLimit(this.#config);
    for (const packed of packRows(batch, { ...this.#config, tokenLimit })) {
      this.#run(session, metrics, packed, batch, constants, temperature, result);
      trained += packed.sources.length;
    }
    if (trained > 0) result.entropy /= trained;
    return result;
  }

  /**
   * Clips, steps and clears the gradients. A gradient that is not finite changes neither weights nor moments; a step that makes
   * a weight infinite or NaN (`applied` is false then too) must be undone by beginning anew.
   */
  optimizerStep(settings: StepSettings): { gradientNorm: number; applied: boolean } {
    const outcome = this.#optimizer.step(settings, this.#step + 1);
    if (outcome.applied) this.#step++;
    return outcome;
  }

  close(): void {
    for (const { session } of this.#sessions.values()) session.close();
    this.#sessions.clear();
  }

  /** Runs one rectangle and adds its sums to `result`; the entropy as a sum too. */
  #run(
    session: Session,
    metrics: readonly string[],
    packed: PackedRows,
    batch: RowBatch,
    constants: Record<string, Tensor>,
    temperature: number,
    result: ForwardBackwardResult,
  ): void {
    const { sources } = packed;
    const shape = [sources.length, 1];
    const perToken = (values: Float32Array): Float32Array =>
      Float32Array.from(sources, (i) => values[i] ?? 0);
    const tokenWeights = perToken(batch.weights);
    const output = (): Float32Array => new Float32Array(sources.length);
    const [logprobs, entropy, loss] = [output(), output(), output()];
    const metricValues = metrics.map(output);
    const embeddedGradient = this.#embeddedGradientOf(packed);
    session.run(
      {
        ...this.#weightFeeds,
        ...this.#packedFeeds.of(packed, temperature),
        ...constants,
        tokenWeights: tensor(tokenWeights, shape),
        advantages: tensor(perToken(batch.advantages), shape),
        oldLogprobs: tensor(perToken(batch.oldLogprobs), shape),
        referenceLogprobs: tensor(perToken(batch.referenceLogprobs), shape),
      },
      {
        ...this.#gradientFetches,
        logprobs: tensor(logprobs, shape),
        entropy: tensor(entropy, shape),
        loss: tensor(loss, shape),
        ...Object.fromEntries(metrics.map((name, i) => [METRIC + name, tensor(metricValues[i]!, shape)])),
        embeddedGradient: tensor(embeddedGradient, [packed.ids.length, this.#config.hiddenSize]),
      },
    );
    this.#addEmbeddedGradient(packed.ids, embeddedGradient);

    sources.forEach((source, i) => {
      result.logprobs[source] = logprobs[i]!;
      result.entropies[source] = entropy[i]!;
    });
    result.loss += dot(loss, tokenWeights);
    result.entropy += entropy.reduce((sum, value) => sum + value, 0);
    metrics.forEach((name, i) => (result.metrics[name]! += dot(metricValues[i]!, tokenWeights)));
  }

  #embeddedGradientOf(packed: PackedRows): Float32Array {
    const length = packed.ids.length * this.#config.hiddenSize;
    if (this.#embeddedGradient.length < length) this.#embeddedGradient = new Float32Array(length);
    return this.#embeddedGradient.subarray(0, length);
  }

  /** Adds each position's gradient to the embedding row that it looked up, in the order of positions. */
  #addEmbeddedGradient(ids: Int32Array, embeddedGradient: Float32Array): void {
    const width = this.#config.hiddenSize;
    const { gradients } = this.#arrays;
    for (let position = 0; position < ids.length; position++) {
      const target = this.#embedding.offset + ids[position]! * width;
      const source = position * width;
      for (let i = 0; i < width; i++) gradients[target + i]! += embeddedGradient[source + i]!;
    }
  }

  #lossSession(loss: TokenLossSettings): LossSession {
    const key = loss.name === 'ppo-clip' ? `${loss.name} ${loss.kl?.estimator ?? 'no kl'}` : loss.name;
    let created = this.#sessions.get(key);
    if (!created) {
      const { graph, metrics } = trainingGraph(this.#config, loss);
      created = { session: new Session(graph, this.#options), metrics };
      this.#sessions.set(key, created);
    }
    return created;
  }
}

/** The numbers of a loss, under the names of the graph inputs that hold them. */
function lossConstants(loss: TokenLossSettings): Record<string, Tensor> {
  const { ops, constants } = constantRecorder();
  const inputs = { logprobs: null, oldLogprobs: null, referenceLogprobs: null, advantages: null };
  tokenLoss(ops, inputs, loss);
  return Object.fromEntries(
    constants.map((value, i) => [lossConstantName(i), tensor(Float32Array.of(value), [])]),
  );
}

function dot(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, value, i) => sum + value * b[i]!, 0);
}
