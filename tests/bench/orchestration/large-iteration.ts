/** One iteration of 10,000 trajectories in shards: events of all its histories, and seconds from its start to its end. */
import { workflowIds } from '../../../core/ids.ts';
import { singleFigure, type Figure } from '../figure.ts';
import { withInstantStack } from './instant-stack.ts';
import { measuredRecipe } from './recipes.ts';
import { workflowsOf } from './workflows-of.ts';

const groupSize = 8;
const tasks = 1250;
const tasksPerShard = 25;

export function measureLargeIteration(): Promise<Figure[]> {
  return withInstantStack({ generateSeconds: 0, stepSeconds: 0 }, async (stack) => {
    const recipe = measuredRecipe('large', 1, { tasksPerIteration: tasks, groupSize, tasksPerShard });
    await (await stack.rekindle.train(recipe, { run: 'large' })).result();
    const workflows = await workflowsOf(stack.address, 'large');
    const iteration = workflows.find(({ id }) => id === workflowIds.iteration('large', 1))!;
    const quantities = { trajectories: tasks * groupSize, shards: tasks / tasksPerShard };
    return [
      singleFigure(
        'events10k',
        workflows.reduce((sum, { events }) => sum + events, 0),
        'events of all workflows of a run of one iteration',
        quantities,
      ),
      singleFigure(
        'seconds10k',
        iteration.seconds,
        'seconds from the start to the end of the iteration',
        quantities,
      ),
    ];
  });
}
