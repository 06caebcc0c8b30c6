/** An engine whose calls are written into the run's journal with their times: what the report and the benchmarks count as work. */
import type { Engine } from '../gpu/engine-port.ts';
import type { RunJournals } from './run-journals.ts';

export function journaled(engine: Engine, run: string, journals: RunJournals): Engine {
  const timed = async <T>(op: string, call: Promise<T>): Promise<T> => {
    const startedAt = new Date().toISOString();
    try {
      return await call;
    } finally {
      journals.write(run, { event: 'engine-call', op, startedAt, endedAt: new Date().toISOString() });
    }
  };
  return {
    describe: () => engine.describe(),
    close: () => engine.close(),
    load: (source, keep) => timed('load', engine.load(source, keep)),
    release: (parts) => engine.release(parts),
    generate: (request, onCompletions, signal, onTokens) =>
      timed('generate', engine.generate(request, onCompletions, signal, onTokens)),
    score: (weights, rows, temperature) => timed('score', engine.score(weights, rows, temperature)),
    values: (weights, rows) => timed('values', engine.values(weights, rows)),
    beginUpdate: (weights, optimizer, step) =>
      timed('begin-update', engine.beginUpdate(weights, optimizer, step)),
    forwardBackward: (rows, loss, temperature) =>
      timed('forward-backward', engine.forwardBackward(rows, loss, temperature)),
    optimizerStep: (settings) => timed('optimizer-step', engine.optimizerStep(settings)),
    save: (folder) => timed('save', engine.save(folder)),
  };
}
