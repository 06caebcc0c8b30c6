/** `npm run histories`: records the histories that the tests replay, anew, from runs on a real server. */
import { rm } from 'node:fs/promises';
import { Client, Connection } from '@temporalio/client';
import { workflowIds } from '../../core/ids.ts';
import { loadTinyRecipe } from '../durability/tiny-recipe.ts';
import { startStack } from '../harness/stack.ts';
import { historiesFolder, writeHistory } from './history-file.ts';
import { scenes } from './scenes.ts';

/** How many histories of a workflow type are kept of a scene, the longest; of other types, one of all scenes. */
const keptOfScene: Record<string, number> = {
  trainRun: Infinity,
  trainIteration: 2,
  rolloutGroup: 1,
  episode: 1,
};
const keptOnce = new Set<string>();

const stack = await startStack();
const connection = await Connection.connect({ address: stack.address });
const { workflow } = new Client({ connection });
try {
  await rm(historiesFolder, { recursive: true, force: true });
  for (const [scene, { set, play }] of Object.entries(scenes)) {
    const run = await stack.rekindle.train(await loadTinyRecipe(), { run: scene, set });
    await play?.(run, stack);
    await run.result();
    await keepHistories(scene);
  }
} finally {
  await connection.close();
  await stack.stop();
}

async function keepHistories(scene: string): Promise<void> {
  const executions = [];
  const id = workflowIds.train(scene);
  const query = `WorkflowId = '${id}' OR WorkflowId STARTS_WITH '${id}-'`;
  for await (const execution of workflow.list({ query })) executions.push(execution);
  executions.sort((a, b) => b.historyLength - a.historyLength);
  const counts = new Map<string, number>();
  for (const { type, workflowId, runId } of executions) {
    const count = (counts.get(type) ?? 0) + 1;
    counts.set(type, count);
    if (type in keptOfScene ? count > keptOfScene[type]! : keptOnce.has(type)) continue;
    keptOnce.add(type);
    const name = `${type}-${scene}${count > 1 ? `-${count}` : ''}`;
    const bytes = await writeHistory(name, await workflow.getHandle(workflowId, runId).fetchHistory());
    process.stdout.write(`${name}: ${bytes} bytes\n`);
  }
}
