/**
 * The kill matrix: at each boundary of an activity, each kind of process is killed, in either durability. The activity that stands
 * at the boundary waits until the victim is dead, so the moment is exact.
 */
import { verifyRun } from '../../store/verify.ts';
import type { Victim } from '../harness/stack.ts';
import { boundaries, type Boundary, type FaultPoint } from './faults/fault-point.ts';
import { isOf, resultOf, tinyRecipe, type FaultyStack } from './faulty-stack.ts';
import type { Outcome } from './outcome.ts';

export const victims: Victim[] = ['control', 'cpu', 'env', 'rollout', 'train', 'engine', 'temporal'];
export const durabilities = ['shard', 'turn'] as const;
export type Durability = (typeof durabilities)[number];

export interface Cell {
  durability: Durability;
  boundary: Boundary;
  victim: Victim;
  /** The activity that stands at the boundary. */
  activity: string;
}

/** The activities that pass a kind of boundary, by durability. */
const activities: Record<string, Record<Durability, string[]>> = {
  artifact: {
    shard: ['prepareBatch', 'rolloutShard', 'shapeRewards', 'updateActor'],
    turn: ['prepareBatch', 'collectEpisodes', 'shapeRewards', 'updateActor'],
  },
  result: {
    shard: ['prepareBatch', 'rolloutShard', 'shapeRewards', 'updateActor'],
    turn: ['agentTurn', 'environmentStep', 'collectEpisodes', 'updateActor'],
  },
  commit: { shard: ['commitVersion'], turn: ['commitVersion'] },
  completion: { shard: ['commitVersion'], turn: ['commitVersion'] },
};

/** Every combination; activities take turns. */
export function allCells(): Cell[] {
  return durabilities.flatMap((durability) =>
    boundaries.flatMap((boundary, b) =>
      victims.map((victim, v) => cellOf(durability, boundary, victim, b + v)),
    ),
  );
}

/** Each boundary and each victim once in each durability. */
export function coveringCells(): Cell[] {
  return durabilities.flatMap((durability, d) =>
    boundaries.map((boundary, b) => cellOf(durability, boundary, victims[(b + 3 * d) % victims.length]!, b)),
  );
}

function cellOf(durability: Durability, boundary: Boundary, victim: Victim, turn: number): Cell {
  const passing = activities[boundary.replace(/^(before|after)-/, '')]![durability];
  return { durability, boundary, victim, activity: passing[turn % passing.length]! };
}

/** Iterations in which the faults of these cells find their moments, in one run. */
export function iterationsFor(cells: readonly Cell[]): number {
  const counts = new Map<string, number>();
  for (const { activity } of cells) counts.set(activity, (counts.get(activity) ?? 0) + 1);
  return Math.max(2, ...counts.values());
}

/** One run of the tiny recipe, in which the faults of all cells are made, one after another; the cells are of one durability. */
export async function runCells(
  stack: FaultyStack,
  run: string,
  cells: readonly Cell[],
  undisturbed: readonly string[],
  overrides: readonly string[] = [],
): Promise<Outcome[]> {
  const iterations = iterationsFor(cells);
  const { durability } = cells[0]!;
  const set = [...overrides, `rollout.durability=${durability}`, `training.iterations=${iterations}`];
  const witnesses = new Map<Cell, string>();
  const handle = await stack.rekindle.train(tinyRecipe, { run, set });
  const broken = new Promise<never>((_, reject) => {
    strikeAll(stack, run, cells, witnesses).catch(reject);
  });
  const { weights } = await Promise.race([resultOf(handle), broken]);
  stack.faults.disarm();
  const weightsEqual = weights === undisturbed[iterations - 1];
  const verification = await verifyRun(stack.store, run, { finished: true });
  return cells.map((cell) => ({
    fault: `${cell.boundary} of ${cell.activity}: SIGKILL of ${cell.victim}, by ${cell.durability}`,
    ...{ run, weightsEqual, verification, witness: witnesses.get(cell) ?? null },
  }));
}

/** One strike at a time, each at the first point of the run that fits a cell which is still to come. */
async function strikeAll(
  stack: FaultyStack,
  run: string,
  cells: readonly Cell[],
  witnesses: Map<Cell, string>,
): Promise<void> {
  const cellAt = (point: FaultPoint): Cell | undefined =>
    isOf(run, point)
      ? cells.find(
          (cell) =>
            !witnesses.has(cell) && cell.boundary === point.boundary && cell.activity === point.activity,
        )
      : undefined;
  while (witnesses.size < cells.length) {
    const [cell, witness] = await stack.faults.arm({
      matches: (point) => cellAt(point) !== undefined,
      strike: async (point) => {
        const cell = cellAt(point)!;
        const killed = await stack.kill(cell.victim);
        if (killed?.signal !== 'SIGKILL') return undefined;
        const words = `pid ${killed.pid} ended by SIGKILL in attempt ${point.attempt} for ${point.workflowId}`;
        return { witness: [cell, words] as const };
      },
    });
    witnesses.set(cell, witness);
  }
}
