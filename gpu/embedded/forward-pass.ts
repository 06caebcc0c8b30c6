/**
 * Runs the forward graph: the next tokens of several sequences under one weight set at a time. Weights that are constants of the session
 * are packed when a set is first used, in a copy of their own; the session of the set before is closed first.
 */
import type { DecoderConfig } from '../model/decoder-config.ts';
import { BatchFeeds, type TokenBatch } from './batch-feeds.ts';
import { forwardGraph } from './forward-graph.ts';
import type { KvWindow } from './kv-cache.ts';
import { blockCount, stepOutput, type StepOutput } from './step-output.ts';
import { Session, tensor, type HostTensor, type Tensor } from './session.ts';
import type { TensorPlace } from './tensor-place.ts';
import { EMBEDDING } from './weights-layout.ts';

export type Weights = Readonly<Record<string, HostTensor>>;

/** The first `rows` rows of the output buffers, for the caller and for the session. */
interface OutputViews {
  rows: number;
  output: StepOutput;
  fetches: Readonly<Record<string, Tensor>>;
}

/** What a session is given: the tensors of these parts, and all together. */
interface Call {
  parts: readonly object[];
  feeds: Readonly<Record<string, Tensor>>;
  fetches: Readonly<Record<string, Tensor>>;
}

export class ForwardPass {
  readonly #config: DecoderConfig;
  readonly #place: TensorPlace;
  readonly #threads: number;
  readonly #batchFeeds: BatchFeeds;
  readonly #profilePrefix: string | undefined;
  #weights: Weights | undefined;
  #session: Session | undefined;
  #weightFeeds: Readonly<Record<string, Tensor>> = {};
  #buffers: Readonly<Record<'logits' | 'probabilities' | 'blockSums', Float32Array>> | undefined;
  #views: OutputViews | undefined;
  /** The last call with each cache, for as long as that lasts: most steps are given the very tensors of the step before. */
  readonly #calls = new WeakMap<KvWindow['feeds'], Call>();

  constructor(
    config: DecoderConfig,
    place: TensorPlace,
    options: { threads: number; profilePrefix?: string },
  ) {
    this.#config = config;
    this.#place = place;
    this.#threads = options.threads;
    this.#batchFeeds = new BatchFeeds(config);
    this.#profilePrefix = options.profilePrefix;
  }

  /**
   * Writes keys and values of the batch's tokens, padding included, into the cache, which must have room for them; gives what follows
   * the selected tokens, valid until the next run.
   * @param weights The tensors of a weight set by name; neither the object nor the tensors may ever change.
   */
  run(weights: Weights, cache: KvWindow, batch: TokenBatch): StepOutput {
    const session = this.#prepare(weights);
    const outputs = this.#outputs(batch.selected.length);
    const { feeds, fetches } = this.#call(cache, this.#batchFeeds.of(cache, batch), outputs);
    session.run(feeds, fetches);
    return outputs.output;
  }

  close(): void {
    this.#session?.close();
    this.#session = undefined;
    this.#weights = undefined;
  }

  #prepare(weights: Weights): Session {
    const { device } = this.#place;
    if (this.#weights !== weights || !this.#session) {
      const options = {
        threads: this.#threads,
        device,
        spin: true,
        ...(this.#profilePrefix === undefined ? {} : { profilePrefix: this.#profilePrefix }),
      };
      if (device === 'webgpu') {
        this.#session ??= new Session(forwardGraph(this.#config, 'inputs'), options);
        this.#weightFeeds = this.#place.inUse(weights);
      } else {
        // Before the next one is made: that may fail.
        this.close();
        const graph = forwardGraph(this.#config, 'constants');
        this.#session = new Session(graph, { ...options, externalArrays: arraysOf(weights) });
        this.#weightFeeds = { [EMBEDDING]: weights[EMBEDDING]! };
      }
      this.#weights = weights;
    }
    return this.#session;
  }

  #call(cache: KvWindow, batchFeeds: Readonly<Record<string, Tensor>>, outputs: OutputViews): Call {
    const parts = [this.#weightFeeds, batchFeeds, outputs];
    let call = this.#calls.get(cache.feeds);
    if (!call || call.parts.some((part, i) => part !== parts[i])) {
      const feeds = { ...this.#weightFeeds, ...batchFeeds, ...cache.feeds };
      call = { parts, feeds, fetches: { ...outputs.fetches, ...cache.fetches } };
      this.#calls.set(cache.feeds, call);
    }
    return call;
  }

  /** Views of `rows` distributions, the same as before for the same number: most steps run as many as the last. */
  #outputs(rows: number): OutputViews {
    if (this.#views?.rows !== rows) this.#views = this.#view(rows);
    return this.#views;
  }

  /** In buffers that are made larger as needed. */
  #view(rows: number): OutputViews {
    const { vocabSize } = this.#config;
    const blocks = blockCount(vocabSize);
    if (!this.#buffers || this.#buffers.logits.length < rows * vocabSize) {
      this.#buffers = {
        logits: new Float32Array(rows * vocabSize),
        probabilities: new Float32Array(rows * vocabSize),
        blockSums: new Float32Array(rows * blocks),
      };
    }
    const logitsBV = this.#buffers.logits.subarray(0, rows * vocabSize);
    const probabilitiesBV = this.#buffers.probabilities.subarray(0, rows * vocabSize);
    const blockSumsBN = this.#buffers.blockSums.subarray(0, rows * blocks);
    return {
      rows,
      output: stepOutput({ vocabSize, logitsBV, probabilitiesBV, blockSumsBN }),
      fetches: {
        logits: tensor(logitsBV, [rows, vocabSize]),
        probabilities: tensor(probabilitiesBV, [rows, vocabSize]),
        blockSums: tensor(blockSumsBN, [rows, blocks]),
      },
    };
  }
}

function arraysOf(weights: Weights): Record<string, Float32Array> {
  return Object.fromEntries(Object.entries(weights).map(([name, { data }]) => [name, data as Float32Array]));
}
