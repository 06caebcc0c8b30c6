/**
 * Runs the forward graph: the next tokens of several sequences under one weight set at a time. Weights that are constants of the session
 * are packed when a set is first used, in a copy of their own; the session of the set before is closed first.
 */
import type { DecoderConfig } from '../model/decoder-config.ts';
import { forwardGraph } from './forward-graph.ts';
import type { KvWindow } from './kv-cache.ts';
import { blockCount, type StepOutput } from './step-output.ts';
import { Session, tensor, type HostTensor, type Tensor } from './session.ts';
import type { TensorPlace } from './tensor-place.ts';
import { EMBEDDING } from './weights-layout.ts';

export type Weights = Readonly<Record<string, HostTensor>>;

export interface TokenBatch {
  /** New tokens of each row; a row with fewer is padded at its end, with any ids. */
  steps: number;
  /** [rows, steps] */
  idsBT: Int32Array;
  /** Position of each row's first token. */
  starts: readonly number[];
  /** Tokens, counted over rows x steps, after which a distribution is wanted. */
  selected: readonly number[];
  /** Of each of these distributions; greater than 0. */
  temperatures: readonly number[];
}

export class ForwardPass {
  readonly #config: DecoderConfig;
  readonly #place: TensorPlace;
  readonly #threads: number;
  readonly #profilePrefix: string | undefined;
  #weights: Weights | undefined;
  #session: Session | undefined;
  #weightFeeds: Readonly<Record<string, Tensor>> = {};
  #buffers: Readonly<Record<'logits' | 'probabilities' | 'blockSums', Float32Array>> | undefined;

  constructor(
    config: DecoderConfig,
    place: TensorPlace,
    options: { threads: number; profilePrefix?: string },
  ) {
    this.#config = config;
    this.#place = place;
    this.#threads = options.threads;
    this.#profilePrefix = options.profilePrefix;
  }

  /**
   * Writes keys and values of the batch's tokens, padding included, into the cache, which must have room for them; gives what follows
   * the selected tokens, valid until the next run.
   * @param weights The tensors of a weight set by name; neither the object nor the tensors may ever change.
   */
  run(weights: Weights, cache: KvWindow, batch: TokenBatch): StepOutput {
    const session = this.#prepare(weights);
    const { output, fetches } = this.#outputs(batch.selected.length);
    const feeds = batchFeeds(this.#config, cache, batch);
    session.run({ ...this.#weightFeeds, ...feeds, ...cache.feeds }, { ...fetches, ...cache.fetches });
    return output;
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
        this.#session?.close();
        const graph = forwardGraph(this.#config, 'constants');
        this.#session = new Session(graph, { ...options, externalArrays: arraysOf(weights) });
        this.#weightFeeds = { [EMBEDDING]: weights[EMBEDDING]! };
      }
      this.#weights = weights;
    }
    return this.#session;
  }

  /** Buffers for `rows` distributions, made larger as needed. */
  #outputs(rows: number): { output: StepOutput; fetches: Record<string, Tensor> } {
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
      output: { vocabSize, logitsBV, probabilitiesBV, blockSumsBN },
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

/** The inputs that say which tokens are run, where they go and what they attend to. */
function batchFeeds(
  { heads, kvHeads, attentionWindow }: DecoderConfig,
  { length }: KvWindow,
  { steps, idsBT, starts, selected, temperatures }: TokenBatch,
): Record<string, Tensor> {
  const rows = starts.length;
  const group = heads / kvHeads;
  const positions = new BigInt64Array(rows * steps);
  const cells = new BigInt64Array(rows * steps * kvHeads * 3);
  const mask = new Float32Array(rows * group * steps * length).fill(-Infinity);
  // Low words of little-endian 64-bit integers: numbers here are small, and bigints slow.
  const positionWords = new Int32Array(positions.buffer);
  const cellWords = new Int32Array(cells.buffer);
  for (let row = 0; row < rows; row++) {
    for (let step = 0; step < steps; step++) {
      const token = row * steps + step;
      const position = starts[row]! + step;
      positionWords[2 * token] = position;
      for (let head = 0; head < kvHeads; head++) {
        const cell = 6 * ((row * kvHeads + head) * steps + step);
        cellWords[cell] = row;
        cellWords[cell + 2] = head;
        cellWords[cell + 4] = position;
      }
      const first = attentionWindow === null ? 0 : Math.max(0, position + 1 - attentionWindow);
      for (let query = 0; query < group; query++) {
        const line = ((row * group + query) * steps + step) * length;
        mask.fill(0, line + first, line + position + 1);
      }
    }
  }
  const inverses = Float32Array.from(temperatures, (temperature) => 1 / temperature);
  return {
    ids: tensor(idsBT, [rows, steps]),
    positions: tensor(positions, [rows, steps]),
    cells: tensor(cells, [rows, kvHeads, steps, 3]),
    mask: tensor(mask, [rows, 1, group * steps, length]),
    selected: tensor(Int32Array.from(selected), [selected.length]),
    inverseTemperatures: tensor(inverses, [selected.length, 1]),
  };
}
