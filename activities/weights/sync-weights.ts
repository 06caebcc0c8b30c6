/**
 * Level-triggered: afterwards the engine of the worker that takes this holds the given weights, whatever it held before. Any
 * other engine loads them with the first shard that asks for them.
 */
import { syncWeightsInputSchema, syncWeightsResultSchema } from '../../core/contracts.ts';
import { defineActivity } from '../define-activity.ts';
import { openedRun } from '../run/opening.ts';
import type { RolloutActivities } from '../interface.ts';
import { engineFor, type Services } from '../services.ts';
import { weightsSource } from './weights-source.ts';

export function syncWeights(services: Services): RolloutActivities['syncWeights'] {
  return defineActivity(
    'syncWeights',
    syncWeightsInputSchema,
    syncWeightsResultSchema,
    async ({ run, weights }) => {
      const opened = await openedRun(services.store, run);
      const engine = engineFor(services, run, opened);
      await engine.load(await weightsSource(services.store, opened, weights));
      return { held: weights.hash };
    },
  );
}
