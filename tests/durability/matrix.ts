/**
 * The kill matrix: at each boundary of an activity, each kind of process is killed, in either durability. The activity that stands
 * at the boundary waits until the victim is dead, so the moment is exact.
 */
import { workflowIds } from '../../core/ids.ts';
import { committedEntries } from '../../store/run-history.ts';
import { verifyRun } from '../../store/verify.ts';
import type { Victim, Witness } from '../harness/stack.ts';
import { boundaries, type Boundary, type FaultPoint } from './faults/fault-point.ts';
import { resultOf, tinyRecipe, type FaultyStack } from './faulty-stack.ts';

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

export interface CellResult extends Cell {
  run: string;
  /** Null when the fault was not made. */
  witness: (Witness & { point: FaultPoint }) | null;
  weightsEqual: boolean;
  /** Findings of the audit of its run. */
  problems: string[];
}

export function passed({ witness, weightsEqual, problems }: CellResult): boolean {
  return witness?.signal === 'SIGKILL' && weightsEqual && problems.length === 0;
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

/** The weights after each iteration of a run of the tiny recipe that is left alone. */
export async function undisturbedWeights(stack: FaultyStack, iterations: number): Promise<string[]> {
  const set = [`training.iterations=${iterations}`];
  await resultOf(await stack.rekindle.train(tinyRecipe, { run: 'undisturbed', set }));
  const entries = await committedEntries(stack.store, 'undisturbed');
  return entries.flatMap(({ kind, weights }) => (kind === 'reinforcement' ? [weights.hash] : []));
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
): Promise<CellResult[]> {
  const iterations = iterationsFor(cells);
  const set = [`rollout.durability=${cells[0]!.durability}`, `training.iterations=${iterations}`];
  const witnesses = new Map<Cell, CellResult['witness']>();
  const handle = await stack.rekindle.train(tinyRecipe, { run, set });
  const broken = new Promise<never>((_, reject) => strikeAll(stack, run, cells, witnesses).catch(reject));
  const { weights } = await Promise.race([resultOf(handle), broken]);
  stack.faults.disarm();
  const { problems } = await verifyRun(stack.store, run, { finished: true });
  return cells.map((cell) => ({
    ...cell,
    ...{ run, problems, weightsEqual: weights === undisturbed[iterations - 1] },
    witness: witnesses.get(cell) ?? null,
  }));
}

/** One strike at a time, each at the first point of the run that fits a cell which is still to come. */
async function strikeAll(
  stack: FaultyStack,
  run: string,
  cells: readonly Cell[],
  witnesses: Map<Cell, CellResult['witness']>,
): Promise<void> {
  const cellAt = (point: FaultPoint): Cell | undefined =>
    isOf(run, point)
      ? cells.find(
          (cell) =>
            !witnesses.has(cell) && cell.boundary === point.boundary && cell.activity === point.activity,
        )
      : undefined;
  while (witnesses.size < cells.length) {
    const { cell, ...witness } = await stack.faults.arm({
      matches: (point) => cellAt(point) !== undefined,
      strike: async (point) => {
        const cell = cellAt(point)!;
        const killed = await stack.kill(cell.victim);
        return killed && { witness: { cell, ...killed, point } };
      },
    });
    witnesses.set(cell, witness);
  }
}

export function isOf(run: string, { workflowId }: FaultPoint): boolean {
  return workflowId === workflowIds.train(run) || workflowId.startsWith(`${workflowIds.train(run)}-`);
}
