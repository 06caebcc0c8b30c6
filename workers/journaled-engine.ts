/**
 * An engine whose calls are written into the run's journal with their times: what the report and the benchmarks count as work.
 * The attempt that a call is made for is told of each token, so that it is known what its end would cost.
 */
import type { Completion, Engine, TokenDelta } from '../gpu/engine-port.ts';
import { sampledWork } from '../store/sampled-work.ts';
import type { RunJournals } from './run-journals.ts';

export function journaled(engine: Engine, run: string, journals: RunJournals): Engine {
  const timed = async <T>(op: string, call: Promise<T>, tokens?: () => number): Promise<T> => {
    const startedAt = new Date().toISOString();
    try {
      return await call;
    } finally {
      const counted = tokens === undefined ? {} : { tokens: tokens() };
      journals.write(run, {
        event: 'engine-call',
        op,
        startedAt,
        endedAt: new Date().toISOString(),
        ...counted,
      });
    }
  };
  return {
    describe: () => engine.describe(),
    close: () => engine.close(),
    load: (source, keep) => timed('load', engine.load(source, keep)),
    release: (parts) => engine.release(parts),
    generate: (request, onCompletions, signal, onTokens) => {
      const listener = new Listener(onCompletions, onTokens);
      const call = engine.generate(
        onTokens === undefined ? { ...request, tellEvery: secondsBetweenCounts } : request,
        (completions) => listener.completions(completions),
        signal,
        (deltas) => listener.tokens(deltas),
      );
      return timed('generate', call, () => listener.counted);
    },
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

let calls = 0;
/** For counts alone, tokens need not come one by one. */
const secondsBetweenCounts = 0.5;

/** Counts the tokens of one generation for the attempt that asked for it. */
class Listener {
  readonly #call = (calls += 1);
  readonly #began = Date.now();
  readonly #work = sampledWork();
  readonly #onCompletions: (completions: Completion[]) => void;
  readonly #onTokens: ((deltas: TokenDelta[]) => void) | undefined;
  /** Tokens of completed samples. */
  counted = 0;

  constructor(
    onCompletions: (completions: Completion[]) => void,
    onTokens: ((deltas: TokenDelta[]) => void) | undefined,
  ) {
    this.#onCompletions = onCompletions;
    this.#onTokens = onTokens;
  }

  tokens(deltas: TokenDelta[]): void {
    const now = Date.now();
    for (const { prompt, sample, ids } of deltas) {
      this.#work?.sampled(this.#nameOf(prompt, sample), ids.length, now);
    }
    this.#onTokens?.(deltas);
  }

  completions(completions: Completion[]): void {
    const now = Date.now();
    for (const { prompt, sample, ids } of completions) {
      this.counted += ids.length;
      this.#work?.ended(this.#nameOf(prompt, sample), ids.length, this.#began, now);
    }
    this.#onCompletions(completions);
  }

  #nameOf(prompt: number, sample: number): string {
    return `${this.#call}/${prompt}/${sample}`;
  }
}
