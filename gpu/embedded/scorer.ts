/** Log-probs of given tokens under any weight set, by one forward-only session. */
import type { ScoredRows } from '../engine-port.ts';
import type { DecoderConfig } from '../model/decoder-config.ts';
import { PackedFeeds } from './packed-feeds.ts';
import { packRows, positionLimit } from './row-packing.ts';
import { Session, tensor, type SessionOptions } from './session.ts';
import { scoringGraph } from './training-graph.ts';
import { weightTensors } from './weight-tensors.ts';
import { weightsLayout } from './weights-layout.ts';

export class Scorer {
  readonly #config: DecoderConfig;
  readonly #session: Session;
  readonly #feeds: PackedFeeds;
  readonly #tokenLimit: number;

  /** @param options.tokenLimit Most positions in one run, padding included. */
  constructor(config: DecoderConfig, options: SessionOptions & { tokenLimit?: number }) {
    this.#config = config;
    this.#session = new Session(scoringGraph(config), options);
    this.#feeds = new PackedFeeds(config);
    this.#tokenLimit = options.tokenLimit ?? positionLimit(config);
  }

  /**
   * @param weights Flat weights (see weights-layout.ts).
   * @returns Log-probs of softmax(logits / temperature), one a token of the batch, 0 where not trained.
   * @throws RekindleError DataError for a batch that packRows refuses.
   */
  score(weights: Float32Array, rows: ScoredRows, temperature: number): Float32Array {
    const scored = new Float32Array(rows.ids.length);
    const weightFeeds = weightTensors(weightsLayout(this.#config), weights);
    for (const packed of packRows(rows, { ...this.#config, tokenLimit: this.#tokenLimit })) {
      const logprobs = new Float32Array(packed.sources.length);
      this.#session.run(
        { ...weightFeeds, ...this.#feeds.of(packed, temperature) },
        { logprobs: tensor(logprobs, [logprobs.length, 1]) },
      );
      packed.sources.forEach((source, i) => (scored[source] = logprobs[i]!));
    }
    return scored;
  }

  close(): void {
    this.#session.close();
  }
}
