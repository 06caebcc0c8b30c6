/** How the tasks of a batch are spread over shards. What is sampled does not depend on it. */
import type { Recipe } from './recipe.ts';

export interface Shard {
  shard: number;
  firstGroup: number;
  groups: number;
}

/** Episodes that one parent workflow has in flight at a time: well under the server's limit of 2,000 children. */
export const largestGroup = 250;

/** Tasks of one shard of a rollout. Unless the recipe says so, a shard whose episodes are workflows is not larger than one parent holds. */
export function tasksOfShard({ rollout }: Pick<Recipe, 'rollout'>, tasks: number): number {
  const { durability, groupSize, tasksPerShard } = rollout;
  if (tasksPerShard !== undefined || durability === 'shard') return tasksPerShard ?? tasks;
  return Math.min(tasks, Math.max(1, Math.floor(largestGroup / groupSize)));
}

export function shardsOf(tasks: number, tasksPerShard: number): Shard[] {
  return Array.from({ length: Math.ceil(tasks / tasksPerShard) }, (_, shard) => ({
    shard,
    firstGroup: shard * tasksPerShard,
    groups: Math.min(tasksPerShard, tasks - shard * tasksPerShard),
  }));
}
