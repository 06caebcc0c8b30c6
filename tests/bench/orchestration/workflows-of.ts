/** The workflows of a run, with the length of their histories. */
import { setTimeout as delay } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { workflowIds } from '../../../core/ids.ts';

export interface FinishedWorkflow {
  id: string;
  type: string;
  events: number;
  seconds: number;
}

/** All workflows of a finished run; one that went on in a new history counts for each. Waits until the server lists them as ended. */
export async function workflowsOf(address: string, run: string): Promise<FinishedWorkflow[]> {
  const connection = await Connection.connect({ address });
  try {
    const { workflow } = new Client({ connection });
    const query = `WorkflowId STARTS_WITH "${workflowIds.train(run)}"`;
    while ((await workflow.count(`${query} AND ExecutionStatus = "Running"`)).count > 0) await delay(100);
    const found: FinishedWorkflow[] = [];
    for await (const { workflowId, type, historyLength, startTime, closeTime } of workflow.list({ query })) {
      found.push({
        id: workflowId,
        type,
        events: historyLength,
        seconds: ((closeTime ?? startTime).getTime() - startTime.getTime()) / 1000,
      });
    }
    return found;
  } finally {
    await connection.close();
  }
}
