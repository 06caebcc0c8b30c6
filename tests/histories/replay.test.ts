/**
 * Recorded histories against the workflows as they are: a run that is under way when Rekindle is upgraded is replayed in just this
 * way, and would stop where its history and the new code part.
 */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { DefaultLogger, Runtime, Worker, type WorkflowBundleOption } from '@temporalio/worker';
import { beforeAll, expect, test } from 'vitest';
import * as workflows from '../../workflows/index.ts';
import { readHistories, type WorkflowHistory } from './history-file.ts';

const histories = await readHistories();
const codePath = fileURLToPath(new URL('../../dist/workflow-bundle.js', import.meta.url));

const advice = `This change of a workflow would break runs that are under way.
Either keep the old path for them, with patched() of @temporalio/workflow (docs/operations.md, "Upgrades");
or, in a release that says that runs must have ended before the upgrade, record the histories anew: npm run histories`;

beforeAll(() => {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
});

test('every workflow type is among the recorded histories', () => {
  const recorded = new Set(histories.map(({ name }) => name.split('-')[0]));
  expect([...recorded].sort()).toEqual(Object.keys(workflows).sort());
});

test.each(histories)('$name can be replayed', async ({ history }) => {
  try {
    await replay(history, { codePath });
  } catch (error) {
    throw new Error(`${advice}\n\n${String(error)}`, { cause: error });
  }
});

test('a workflow that would do something else than its history is found out', async () => {
  const code = await readFile(codePath, 'utf8');
  const changed = code.replace('.prepareBatch({', '.publishMetrics({');
  expect(changed).not.toBe(code);
  const { history } = histories.find(({ name }) => name.startsWith('trainIteration-'))!;
  await expect(replay(history, { code: changed })).rejects.toThrow(/nondeterminism/i);
});

async function replay(history: WorkflowHistory, workflowBundle: WorkflowBundleOption): Promise<void> {
  const { workflowId } = history.events![0]!.workflowExecutionStartedEventAttributes!;
  await Worker.runReplayHistory({ workflowBundle }, history, workflowId!);
}
