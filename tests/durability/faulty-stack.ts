/** A stack whose workers pass fault points, and reach the server through a proxy that can cut their connections. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setTimeout as delay } from 'node:timers/promises';
import { isCause } from '../../core/errors.ts';
import { pools, workflowIds } from '../../core/ids.ts';
import type { RunHandle } from '../../client/run-handle.ts';
import type { RunState } from '../../core/contracts.ts';
import { bundleTestProgram } from '../harness/bundle-script.ts';
import { startStack, type TestStack } from '../harness/stack.ts';
import { startTcpProxy, type TcpProxy } from '../harness/tcp-proxy.ts';
import { FaultControl } from './faults/fault-control.ts';
import type { FaultPoint } from './faults/fault-point.ts';

export interface FaultyStack extends TestStack {
  faults: FaultControl;
  proxy: TcpProxy;
}

/** Each pool has a process of its own. */
export async function startFaultyStack(): Promise<FaultyStack> {
  const scratch = await mkdtemp(join(tmpdir(), 'rekindle-faults-'));
  const program = await bundleTestProgram(
    fileURLToPath(new URL('./faults/faulty-worker.ts', import.meta.url)),
    scratch,
  );
  const socketPath = join(scratch, 'faults.sock');
  const faults = await FaultControl.listen(socketPath);
  let proxy: TcpProxy | undefined;
  const stack = await startStack(
    pools.map((pool) => [pool]),
    ['--enable-source-maps', program],
    { REKINDLE_FAULTS: socketPath },
    async (server) => (proxy = await startTcpProxy(server)).address,
  );
  return {
    ...stack,
    faults,
    proxy: proxy!,
    async stop() {
      await stack.stop();
      faults.close();
      proxy!.close();
      await rm(scratch, { recursive: true });
    },
  };
}

export const tinyRecipe = fileURLToPath(new URL('./tiny.yaml', import.meta.url));

/** The end of a run, however long the server is away meanwhile. */
export async function resultOf(run: RunHandle): Promise<RunState> {
  for (;;) {
    try {
      return await run.result();
    } catch (error) {
      if (!isCause(error, 'TemporalError')) throw error;
      await delay(200);
    }
  }
}

/** Whether a fault point was passed for that run. */
export function isOf(run: string, { workflowId }: FaultPoint): boolean {
  return workflowId === workflowIds.train(run) || workflowId.startsWith(`${workflowIds.train(run)}-`);
}
