/** A thousand episodes of five turns at once, each a workflow: how many a second, and what the control worker holds. */
import { committedEntries } from '../../../store/run-history.ts';
import { singleFigure, type Figure } from '../figure.ts';
import { watchMemory } from '../peak-memory.ts';
import { withInstantStack } from './instant-stack.ts';
import { measuredRecipe } from './recipes.ts';

const groupSize = 8;
const tasks = 125;
const turns = 5;

export function measureEpisodes(): Promise<Figure[]> {
  return withInstantStack({ generateSeconds: 0, stepSeconds: 0 }, async (stack) => {
    const peak = watchMemory(stack.processes);
    const recipe = measuredRecipe(
      'episodes',
      1,
      { tasksPerIteration: tasks, groupSize, durability: 'turn' },
      { environment: { kind: 'attempts', attempts: turns, feedback: '?' } },
    );
    await (await stack.rekindle.train(recipe, { run: 'episodes' })).result();
    const memory = peak().byProcess['worker-control']!;
    const entries = await committedEntries(stack.store, 'episodes');
    const seconds = entries.at(-1)!.metrics['time/rollout_seconds']!;
    const episodes = tasks * groupSize;
    const quantities = { episodes, turns, seconds };
    return [
      singleFigure(
        'episodesPerSecond',
        episodes / seconds,
        'episodes over seconds of the rollout',
        quantities,
      ),
      singleFigure('controlMemoryMB', memory, 'MB, peak resident memory of the control worker', quantities),
    ];
  });
}
