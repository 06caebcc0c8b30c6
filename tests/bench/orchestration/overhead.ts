/** The share of an iteration in which no engine works, for iterations whose engines take a given time. */
import { medianFigure, type Figure } from '../figure.ts';
import { median } from '../statistics.ts';
import { iterationTimes } from './commits.ts';
import { withInstantStack } from './instant-stack.ts';
import { measuredRecipe } from './recipes.ts';

const trajectories = 512;
const groupSize = 8;

/** Half of the time goes to the rollout, half to the one optimizer step. The first iteration, which starts engines, does not count. */
export async function measureOverhead(
  name: string,
  engineSeconds: number,
  iterations: number,
): Promise<Figure[]> {
  const times = { generateSeconds: engineSeconds / 2, stepSeconds: engineSeconds / 2 };
  const measured = await withInstantStack(times, async (stack) => {
    const recipe = measuredRecipe('overhead', iterations + 1, {
      tasksPerIteration: trajectories / groupSize,
      groupSize,
    });
    await (await stack.rekindle.train(recipe, { run: 'overhead' })).result();
    return iterationTimes(stack.runsFolder, 'overhead');
  });
  const ofIterations = measured.slice(-iterations);
  const shares = ofIterations.map(({ seconds, overheadSeconds }) => overheadSeconds / seconds);
  return [
    medianFigure(name, shares, 'time of an iteration in which no engine works over all of its time', {
      trajectories,
      secondsPerIteration: median(ofIterations.map(({ seconds }) => seconds)),
      overheadSeconds: median(ofIterations.map(({ overheadSeconds }) => overheadSeconds)),
    }),
  ];
}
