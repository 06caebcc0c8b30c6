/** The result of an update as artifacts: what the engine wrote, moved into the store. */
import type { Candidate, Policy } from '../../core/contracts.ts';
import { mediaTypes } from '../../core/refs.ts';
import type { Engine } from '../../gpu/engine-port.ts';
import type { Store } from '../../store/store.ts';
import type { OpenedRun } from '../run/opening.ts';
import { weightsSource } from '../weights/weights-source.ts';

/** Brings the engine to a policy, wherever it is now: an update always starts from its parent's bytes. */
export async function beginUpdate(
  store: Store,
  engine: Engine,
  opened: OpenedRun,
  { weights, optimizer, optimizerStep }: Policy,
): Promise<void> {
  const moments = optimizer && { tag: optimizer.hash, path: await store.localPath(optimizer) };
  await engine.beginUpdate(await weightsSource(store, opened, weights), moments, optimizerStep);
}

export async function saveCandidate(
  store: Store,
  engine: Engine,
  update: Omit<Candidate, 'weights' | 'optimizer' | 'update'>,
): Promise<Candidate> {
  return store.withScratch(async (folder) => {
    const saved = await engine.save(folder);
    return {
      ...update,
      update: 'applied',
      weights: await store.putFile(saved.weightsPath, mediaTypes.safetensors),
      optimizer: await store.putFile(saved.optimizerPath, mediaTypes.safetensors),
    };
  });
}

/** An update that met a NaN or an infinity: the parent stands, and the log says so. */
export function refusedCandidate(
  parent: Policy,
  update: Pick<Candidate, 'metrics' | 'phaseFinished'>,
): Candidate {
  return {
    ...update,
    update: 'refused',
    weights: parent.weights,
    optimizer: parent.optimizer,
    optimizerStep: parent.optimizerStep,
  };
}
