/** The update of AdamW as a graph over vectors w, g, m and v, with the factors of adamw-factors.ts as scalar inputs. */
import { tensor } from '../embedded/session.ts';
import type { HostTensor } from '../embedded/runtime.ts';
import type { UpdateFactors } from '../embedded/adamw-factors.ts';
import { Graph } from '../graph/graph.ts';
import { add, div, mul, sqrt, sub } from '../graph/ops.ts';

export function adamWGraph(): Graph {
  const graph = new Graph('adamw');
  const vector = (name: string) => graph.input(name, ['n']);
  const factor = (name: keyof UpdateFactors) => graph.input(name, []);
  const [w, g, m, v] = [vector('w'), vector('g'), vector('m'), vector('v')];
  const newM = add(mul(m, factor('beta1')), mul(g, factor('gradientToM')));
  const scaled = mul(g, factor('gradientToRootV'));
  const newV = add(mul(v, factor('beta2')), mul(scaled, scaled));
  const change = div(mul(newM, factor('rate')), add(sqrt(newV), factor('epsilon')));
  graph.output('newW', sub(mul(w, factor('keep')), change));
  graph.output('newM', newM);
  graph.output('newV', newV);
  return graph;
}

export function factorFeeds(factors: UpdateFactors): Record<string, HostTensor> {
  return Object.fromEntries(
    Object.entries(factors).map(([name, value]) => [name, tensor(Float32Array.of(value), [])]),
  );
}
