/** What the head of any weight set says of given tokens, by one forward-only session: log-probs, values, or rewards. */
import { positionLimit } from '../../core/activation-memory.ts';
import type { ScoredRows } from '../engine-port.ts';
import type { DecoderConfig } from '../model/decoder-config.ts';
import { trainEverything, type PolicyHead } from '../training-setup.ts';
import { openPlace } from './open-place.ts';
import { PackedFeeds } from './packed-feeds.ts';
import { ofLastTokens, rewardRows } from './reward-rows.ts';
import { packRows } from './row-packing.ts';
import { Session, tensor, type SessionOptions, type Tensor } from './session.ts';
import type { TensorPlace } from './tensor-place.ts';
import { scoringGraph } from './training-graph.ts';
import { trainingPlan, type TrainingPlan } from './training-plan.ts';

export interface ScorerOptions extends SessionOptions {
  /** Most positions in one run, padding included. */
  tokenLimit?: number;
}

type Weights = Readonly<Record<string, Tensor>>;

export class Scorer {
  readonly #config: DecoderConfig;
  readonly #place: TensorPlace;
  readonly #session: Session;
  readonly #inputs: ReadonlySet<string>;
  readonly #feeds: PackedFeeds;
  readonly #head: PolicyHead;
  readonly #limitOf: (rowPositions: number) => number;

  /** @param plan Default: full weights with the language model's head. */
  constructor(
    config: DecoderConfig,
    options: ScorerOptions,
    plan: TrainingPlan = trainingPlan(config, trainEverything),
  ) {
    const graph = scoringGraph(plan);
    this.#config = config;
    this.#place = openPlace(options.device);
    this.#session = new Session(graph, options);
    this.#inputs = new Set(graph.inputs.map(({ name }) => name));
    this.#feeds = new PackedFeeds(config);
    this.#head = plan.setup.head;
    // Without a backward pass no layer keeps anything, as with checkpointing.
    this.#limitOf = (rowPositions) => options.tokenLimit ?? positionLimit(config, rowPositions, true);
  }

  /**
   * @param weights The tensors that the plan names.
   * @returns Log-probs of softmax(logits / temperature), one a token of the batch, 0 where not trained.
   * @throws RekindleError DataError for a batch that packRows refuses.
   */
  score(weights: Weights, rows: ScoredRows, temperature: number): Float32Array {
    return this.#run(weights, rows, 'logprobs', temperature);
  }

  /** @returns Values of trained tokens (length T), or rewards of rows (length R), as the head is. */
  values(weights: Weights, rows: ScoredRows): Float32Array {
    if (this.#head !== 'reward') return this.#run(weights, rows, 'values');
    const longer = rewardRows(rows);
    return ofLastTokens(longer, this.#run(weights, longer, 'values', 1, this.#config.maxPositions + 1));
  }

  close(): void {
    this.#session.close();
    this.#place.close();
  }

  #run(
    weights: Weights,
    rows: ScoredRows,
    output: 'logprobs' | 'values',
    temperature = 1,
    maxPositions = this.#config.maxPositions,
  ): Float32Array {
    const scored = new Float32Array(rows.ids.length);
    const limits = { ...this.#config, maxPositions, limitOf: this.#limitOf };
    for (const packed of packRows(rows, limits)) {
      const numbers = new Float32Array(packed.sources.length);
      const feeds = { ...this.#place.inUse(weights), ...this.#feeds.of(packed, temperature) };
      this.#session.run(
        Object.fromEntries(Object.entries(feeds).filter(([name]) => this.#inputs.has(name))),
        { [output]: tensor(numbers, [numbers.length, 1]) },
      );
      packed.sources.forEach((source, i) => (scored[source] = numbers[i]!));
    }
    return scored;
  }
}
