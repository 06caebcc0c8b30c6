/**
 * Notices when the Temporal server is away. The SDK waits and connects again without a word, so a worker asks the server from
 * time to time, and writes an absence into the journals of its runs when it is over.
 */
import type { NativeConnection } from '@temporalio/worker';
import type { RunJournals } from './run-journals.ts';

const interval = 5_000;
const patience = 3_000;

type Server = Pick<NativeConnection, 'workflowService' | 'withDeadline'>;

/** Returns the function that ends the watch. */
export function watchServer(server: Server, journals: Pick<RunJournals, 'runs' | 'write'>): () => void {
  let lastAnswer = Date.now();
  let away = false;
  let asking = false;
  const ask = async (): Promise<void> => {
    if (asking) return;
    asking = true;
    try {
      await server.withDeadline(Date.now() + patience, () => server.workflowService.getSystemInfo({}));
      if (away) tell(lastAnswer, Date.now());
      away = false;
      lastAnswer = Date.now();
    } catch {
      away = true;
    } finally {
      asking = false;
    }
  };
  const tell = (from: number, to: number): void => {
    const [startedAt, endedAt] = [from, to].map((moment) => new Date(moment).toISOString());
    for (const run of journals.runs) {
      journals.write(run, { event: 'server-away', startedAt: startedAt!, endedAt: endedAt! });
    }
  };
  const timer = setInterval(() => void ask(), interval);
  return () => clearInterval(timer);
}
