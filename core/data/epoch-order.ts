/** The order of a finite data set: every row once an epoch, each epoch in its own order, all from the run seed. */
import { permutation, seedAt } from '../seeds.ts';

export interface EpochPosition {
  epoch: number;
  row: number;
}

/** Maps cursors to rows of a data set of `size` rows. The order of an epoch is computed when it is first needed. */
export function epochOrder(size: number, runSeed: number): (cursor: number) => EpochPosition {
  let epochAtHand = -1;
  let order: Uint32Array = new Uint32Array();
  return (cursor) => {
    const epoch = Math.floor(cursor / size);
    if (epoch !== epochAtHand) {
      order = permutation(size, seedAt(runSeed, 'epochOrder', epoch));
      epochAtHand = epoch;
    }
    return { epoch, row: order[cursor % size]! };
  };
}
