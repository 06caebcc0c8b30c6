/**
 * A store as one attempt at a long piece of work has it: when another attempt has claimed the work, this one, which was taken for
 * dead, records nothing more.
 *
 * Between the look at the claim and the writing another may claim. Then the first writer wins, as for every key: the fence keeps
 * late attempts from their effects, the exclusive creation of results keeps effects single.
 */
import type { Claim, Store } from './store.ts';

export function fencedStore(store: Store, claim: Claim): Store {
  return {
    ...store,
    /** A result that the key has already is returned, as ever. Throws FencedError otherwise, if another has claimed the work. */
    async recordResult(run, key, recorded) {
      const found = await store.findResult(run, key);
      if (found !== undefined) return found;
      await claim.requireLast();
      return store.recordResult(run, key, recorded);
    },
  };
}
