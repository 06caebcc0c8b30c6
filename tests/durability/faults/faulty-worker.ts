/** A worker program that passes fault points; REKINDLE_FAULTS is the socket of the test that waits at them. */
import { Context } from '@temporalio/activity';
import type { ActivityInboundCallsInterceptor } from '@temporalio/worker';
import { openLocalStore } from '../../../store/local/open-local-store.ts';
import { parseWorkerOptions } from '../../../workers/options.ts';
import { runWorker } from '../../../workers/run-worker.ts';
import { connectFaults } from './fault-client.ts';
import type { Boundary } from './fault-point.ts';
import { faultyStore } from './faulty-store.ts';
import { shiftClock } from './shift-clock.ts';

const report = await connectFaults(process.env['REKINDLE_FAULTS']!);

async function pass(boundary: Boundary): Promise<boolean> {
  const { activityType, attempt, workflowExecution } = Context.current().info;
  const order = await report({
    boundary,
    activity: activityType,
    attempt,
    workflowId: workflowExecution?.workflowId ?? '',
    pid: process.pid,
  });
  if (order.do === 'shift-clock') shiftClock(order.hours);
  return order.do === 'fail-write';
}

const completions: ActivityInboundCallsInterceptor = {
  async execute(input, next) {
    const result = await next(input);
    await pass('before-completion');
    return result;
  },
};

await runWorker(parseWorkerOptions(process.argv.slice(2)), {
  store: (folder) => faultyStore(openLocalStore(folder), pass),
  activityInterceptor: completions,
});
