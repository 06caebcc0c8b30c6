/**
 * What is done to a KV cache beside decoding, on the device: cutting the beginning of a row out, putting one in, making room for
 * longer sequences. Each moves all buffers [rows, kvHeads, length, headSize] of all layers in one run.
 */
import { Session, tensor, type HostTensor, type Tensor } from '../embedded/session.ts';
import { Graph, type Value } from '../graph/graph.ts';
import { where } from '../graph/ops.ts';
import type { DecoderConfig } from '../model/decoder-config.ts';
import type { ResidentTensor } from './resident-tensor.ts';

type CacheConfig = Pick<DecoderConfig, 'layers' | 'kvHeads' | 'headSize'>;

const options = { threads: 1, device: 'webgpu' } as const;
const SEQUENCE_AXIS = 2;

export class KvMoves {
  readonly #cut: Session;
  readonly #put: Session;
  readonly #lengthen: Session;

  constructor(config: CacheConfig) {
    this.#cut = new Session(cutGraph(config), options);
    this.#put = new Session(putGraph(config), options);
    this.#lengthen = new Session(lengthenGraph(config), options);
  }

  /** Copies the first `positions` of a row into `pieces` [1, kvHeads, positions, headSize]. */
  cut(
    cache: readonly ResidentTensor[],
    row: number,
    positions: number,
    pieces: readonly ResidentTensor[],
  ): void {
    const starts = integers([row, 0]);
    const ends = integers([row + 1, positions]);
    this.#cut.run({ ...numbered('cache', cache), starts, ends }, numbered('piece', pieces));
  }

  /** Writes `pieces` to the beginning of a row. */
  put(cache: readonly ResidentTensor[], row: number, pieces: readonly ResidentTensor[]): void {
    const [rows, , length] = cache[0]!.shape as [number, number, number];
    const positions = pieces[0]!.shape[SEQUENCE_AXIS]!;
    const replaced = new Uint8Array(rows * length).fill(1, row * length, row * length + positions);
    const feeds = {
      ...numbered('cache', cache),
      ...numbered('piece', pieces),
      pads: endPadding(length - positions),
      replaced: tensor(replaced, [rows, 1, length, 1]),
    };
    this.#put.run(feeds, numbered('updated', cache));
  }

  /** Copies a cache into a longer one. */
  lengthen(cache: readonly ResidentTensor[], longer: readonly ResidentTensor[]): void {
    const added = longer[0]!.shape[SEQUENCE_AXIS]! - cache[0]!.shape[SEQUENCE_AXIS]!;
    this.#lengthen.run({ ...numbered('cache', cache), pads: endPadding(added) }, numbered('longer', longer));
  }

  close(): void {
    for (const session of [this.#cut, this.#put, this.#lengthen]) session.close();
  }
}

function numbered(name: string, tensors: readonly ResidentTensor[]): Record<string, Tensor> {
  return Object.fromEntries(tensors.map((resident, i) => [name + i, resident]));
}

function integers(values: readonly number[]): HostTensor {
  return tensor(BigInt64Array.from(values, BigInt), [values.length]);
}

/** Zeros after the last position. */
function endPadding(positions: number): HostTensor {
  return integers([0, 0, 0, 0, 0, 0, positions, 0]);
}

/** A graph that does the same to every buffer. */
function eachBuffer(
  graph: Graph,
  { layers, kvHeads, headSize }: CacheConfig,
  output: string,
  move: (cache: Value, buffer: number) => Value,
): Graph {
  for (let buffer = 0; buffer < 2 * layers; buffer++) {
    const cache = graph.input(`cache${buffer}`, ['rows', kvHeads, 'length', headSize]);
    graph.output(output + buffer, move(cache, buffer));
  }
  return graph;
}

function cutGraph(config: CacheConfig): Graph {
  const graph = new Graph('cut from KV cache');
  const [starts, ends] = [graph.input('starts', [2], 'int64'), graph.input('ends', [2], 'int64')];
  const axes = graph.integers([0, SEQUENCE_AXIS]);
  const shape = [1, config.kvHeads, 'positions', config.headSize];
  return eachBuffer(
    graph,
    config,
    'piece',
    (cache) => graph.node('Slice', [cache, starts, ends, axes], [{ shape }])[0]!,
  );
}

function putGraph(config: CacheConfig): Graph {
  const { kvHeads, headSize } = config;
  const graph = new Graph('put into KV cache');
  const pads = graph.input('pads', [8], 'int64');
  const replaced = graph.input('replaced', ['rows', 1, 'length', 1], 'bool');
  return eachBuffer(graph, config, 'updated', (cache, buffer) => {
    const piece = graph.input(`piece${buffer}`, [1, kvHeads, 'positions', headSize]);
    const [padded] = graph.node('Pad', [piece, pads], [{ shape: [1, kvHeads, 'length', headSize] }]);
    return where(replaced, padded!, cache);
  });
}

function lengthenGraph(config: CacheConfig): Graph {
  const graph = new Graph('lengthen KV cache');
  const pads = graph.input('pads', [8], 'int64');
  const shape = ['rows', config.kvHeads, 'longer', config.headSize];
  return eachBuffer(graph, config, 'longer', (cache) => graph.node('Pad', [cache, pads], [{ shape }])[0]!);
}
