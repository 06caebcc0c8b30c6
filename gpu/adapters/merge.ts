/** Adds an adapter to its base: new matrices W + scale * b a, in float32, with the same bits on any number of threads. */
import type { AdapterSettings } from '../../core/recipe.ts';
import { Session, tensor, type HostTensor, type SessionOptions } from '../embedded/session.ts';
import type { WeightsLayout } from '../embedded/weights-layout.ts';
import { Graph } from '../graph/graph.ts';
import { mul } from '../graph/ops.ts';
import { adaptedModules, adapterLayout, adapterScale, pairTensors } from './adapter-layout.ts';

type Tensors = Readonly<Record<string, HostTensor>>;

export class AdapterMerger {
  readonly #session: Session;

  constructor(options: SessionOptions) {
    this.#session = new Session(mergeGraph(), options);
  }

  /**
   * All tensors of the merged policy: copies of those that the adapter adds to, the base's own for the rest, and the adapter's
   * score if it has one.
   * @param layout Of the base.
   * @param flat The adapter, in the layout of `adapterLayout`.
   */
  merge(
    base: Tensors,
    layout: WeightsLayout,
    settings: AdapterSettings,
    flat: Float32Array,
    scored: boolean,
  ): Tensors {
    const adapter = new Map(
      adapterLayout(layout, settings, scored).tensors.map(({ name, shape, offset, length }) => [
        name,
        tensor(flat.subarray(offset, offset + length), shape),
      ]),
    );
    const merged: Record<string, HostTensor> = { ...base };
    const scale = tensor(Float32Array.of(adapterScale(settings)), []);
    for (const { layer, module, matrix } of adaptedModules(layout, settings)) {
      const stacked = layout.tensors.find(
        ({ offset, length }) => matrix.offset >= offset && matrix.offset < offset + length,
      )!;
      const { name, shape } = stacked;
      if (merged[name] === base[name])
        merged[name] = tensor((base[name]!.data as Float32Array).slice(), shape);
      const start = matrix.offset - stacked.offset;
      const target = (merged[name]!.data as Float32Array).subarray(start, start + matrix.length);
      const rows = tensor(target, matrix.shape);
      const pair = pairTensors(layer, module);
      const feeds = { w: rows, a: adapter.get(pair.a)!, b: adapter.get(pair.b)!, scale };
      this.#session.run(feeds, { merged: rows });
    }
    for (const [name, value] of adapter) if (!/\.[ab]$/.test(name)) merged[name] = value;
    return merged;
  }

  close(): void {
    this.#session.close();
  }
}

/** w + (scale b) a for w [out, in], a [r, in] and b [out, r]. */
function mergeGraph(): Graph {
  const graph = new Graph('merge an adapter');
  const w = graph.input('w', ['out', 'in']);
  const a = graph.input('a', ['r', 'in']);
  const scaled = mul(graph.input('b', ['out', 'r']), graph.input('scale', []));
  graph.output('merged', graph.node('Gemm', [scaled, a, w], [{ shape: w.shape }])[0]!);
  return graph;
}
