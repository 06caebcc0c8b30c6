/** The parts of `npm run test:durability`. Each tells how many faults it makes, and makes them; all share a stack. */
import { tinyRecipe, type FaultyStack } from './faulty-stack.ts';
import { boundaries } from './faults/fault-point.ts';
import { allCells, durabilities, iterationsFor, runCells, type Cell } from './matrix.ts';
import { otherFaultIterations, runWithFault } from './other-fault.ts';
import { allFaults } from './other-faults.ts';
import type { Outcome } from './outcome.ts';
import { iterationsForKills, runWithRandomKills } from './random-kills.ts';
import { undisturbedWeights } from './undisturbed.ts';

export interface Part {
  faults: number;
  /** Its faults are deaths, whose cost is counted; that of a minute without a server, or by a clock that is wrong, tells nothing. */
  ofDeaths: boolean;
  run(stack: FaultyStack, onOutcomes: (outcomes: Outcome[]) => void): Promise<void>;
}

export interface Plan {
  kills: number;
  seeds: number[];
}

export const parts = { matrix, others, recovery, random } satisfies Record<string, (plan: Plan) => Part>;
export type PartName = keyof typeof parts;

/** One run for each boundary and durability, in which every victim dies. */
function matrix(): Part {
  const cells = allCells();
  const groups = durabilities.flatMap((durability) =>
    boundaries.map((boundary) =>
      cells.filter((cell) => cell.durability === durability && cell.boundary === boundary),
    ),
  );
  return {
    faults: cells.length,
    ofDeaths: true,
    async run(stack, onOutcomes) {
      const iterations = Math.max(...groups.map(iterationsFor));
      const undisturbed = await undisturbedWeights(stack, tinyRecipe, 'matrix-undisturbed', iterations);
      for (const group of groups) {
        const { durability, boundary } = group[0]!;
        onOutcomes(await runCells(stack, `matrix-${durability}-${boundary}`, group, undisturbed));
      }
    },
  };
}

function others(): Part {
  const faults = allFaults(60);
  return {
    faults: faults.length,
    ofDeaths: false,
    async run(stack, onOutcomes) {
      const alone = 'others-undisturbed';
      const undisturbed = await undisturbedWeights(stack, tinyRecipe, alone, otherFaultIterations);
      for (const fault of faults) onOutcomes([await runWithFault(stack, fault, undisturbed)]);
    },
  };
}

/** Deaths that cut off sampling, with the default setting of what a death's discovery takes. */
function recovery(): Part {
  const set = ['schedule.heartbeatSeconds=10'];
  const cells = durabilities.flatMap((durability) =>
    (['rollout', 'engine'] as const).map((victim): Cell =>
      durability === 'shard'
        ? { durability, victim, activity: 'rolloutShard', boundary: 'before-artifact' }
        : { durability, victim, activity: 'agentTurn', boundary: 'before-result' },
    ),
  );
  return {
    faults: cells.length,
    ofDeaths: true,
    async run(stack, onOutcomes) {
      const undisturbed = await undisturbedWeights(stack, tinyRecipe, 'recovery-undisturbed', 2);
      for (const cell of cells) {
        const run = `recovery-${cell.durability}-${cell.victim}`;
        onOutcomes(await runCells(stack, run, [cell], undisturbed, set));
      }
    },
  };
}

/** Kills over one run of the size of `smoke` for each seed; odd seeds by shard, even ones by turn. */
function random({ kills, seeds }: Plan): Part {
  return {
    faults: kills * seeds.length,
    ofDeaths: true,
    async run(stack, onOutcomes) {
      const iterations = iterationsForKills(kills);
      const undisturbed = await undisturbedWeights(stack, 'smoke', 'random-undisturbed', iterations);
      for (const seed of seeds) {
        const durability = durabilities[(seed + 1) % 2]!;
        const plan = { recipe: 'smoke', durability, kills, seed };
        onOutcomes(await runWithRandomKills(stack, plan, undisturbed));
      }
    },
  };
}
