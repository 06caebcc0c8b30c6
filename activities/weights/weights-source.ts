/** Where an engine finds a policy's weights: a file in the store and, for the adapter of a LoRA run, the base that it adds to. */
import type { Ref } from '../../core/refs.ts';
import type { WeightsSource } from '../../gpu/engine-port.ts';
import type { Store } from '../../store/store.ts';
import type { Opening } from '../run/opening.ts';

export async function weightsSource(
  store: Store,
  { base }: Pick<Opening, 'base'>,
  weights: Ref,
): Promise<WeightsSource> {
  const source = async (ref: Ref) => ({ tag: ref.hash, path: await store.localPath(ref) });
  return { ...(await source(weights)), ...(base === null ? {} : { base: await source(base) }) };
}
