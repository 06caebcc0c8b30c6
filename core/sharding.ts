/** How the tasks of a batch are spread over shards. What is sampled does not depend on it. */
import type { Recipe } from './recipe.ts';

export interface Shard {
  shard: number;
  firstGroup: number;
  groups: number;
}

/** Episodes that one parent workflow has at most, unless those of one task are more: well under the server's limit of 2,000 children. */
export const largestGroup = 250;

/** Tasks of one shard of a rollout; where episodes are workflows, it is not larger than a parent can hold. */
export function tasksOfShard({ rollout }: Pick<Recipe, 'rollout'>, tasks: number): number {
  const { durability, groupSize, tasksPerShard = tasks } = rollout;
  return durability === 'shard'
    ? tasksPerShard
    : Math.min(tasksPerShard, Math.max(1, Math.floor(largestGroup / groupSize)));
}

export function shardsOf(tasks: number, tasksPerShard: number): Shard[] {
  return Array.from({ length: Math.ceil(tasks / tasksPerShard) }, (_, shard) => ({
    shard,
    firstGroup: shard * tasksPerShard,
    groups: Math.min(tasksPerShard, tasks - shard * tasksPerShard),
  }));
}
