/** The parts that endpoints work with. */
import type { Engine } from '../engine-port.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { ServingMetrics } from './metrics/serving-metrics.ts';
import type { ServedModel } from './served-model.ts';
import type { ServedWeights } from './served-weights.ts';

export interface Serving {
  model: ServedModel;
  engine: Engine;
  weights: ServedWeights;
  dispatcher: Dispatcher;
  metrics: ServingMetrics;
  /** Unix time in whole seconds. */
  started: number;
}
