/**
 * An engine that computes nothing: responses of three letters that depend on their seed, weights that name the steps they came from.
 * It takes as long as it is told to. For what is about everything but models; the same calls give the same results.
 */
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { integerAt } from '../../core/seeds.ts';
import type { Completion, Engine, RowBatch } from '../../gpu/engine-port.ts';

export interface EngineTimes {
  /** Seconds of one call of `generate`. */
  generateSeconds: number;
  /** Seconds of one optimizer step. */
  stepSeconds: number;
}

const letters = 3;
/** Of the tokenizer `characters`. */
const [firstLetter, endOfResponse] = [97, 10];

export function instantEngine({ generateSeconds, stepSeconds }: EngineTimes): Engine {
  const held = new Set<string>();
  let policy = '';
  return {
    describe: () =>
      Promise.resolve({
        device: 'cpu',
        threads: 1,
        slots: 64,
        parameters: 0,
        processId: process.pid,
        peakMemoryBytes: 0,
        busySeconds: 0,
        held: [...held],
      }),
    load: ({ tag }) => Promise.resolve(void held.add(tag)),
    release: () => Promise.resolve(),
    close: () => Promise.resolve(),
    async generate({ prompts, sampling }, onCompletions, signal) {
      await delay(generateSeconds * 1000, undefined, signal ? { signal } : {});
      onCompletions(
        prompts.flatMap(({ seeds }, prompt) =>
          seeds.map((seed, sample): Completion => {
            const text = Array.from({ length: letters }, (_, i) => firstLetter + integerAt(seed, i, 26));
            const ids = [...text, endOfResponse].slice(0, sampling.maxNewTokens);
            const finish = ids.at(-1) === endOfResponse ? 'stop' : 'length';
            return { prompt, sample, ids, logprobs: ids.map(() => -1), finish };
          }),
        ),
      );
    },
    score: (_, { ids, trained }) => Promise.resolve(Float32Array.from(ids, (_id, t) => -(trained[t] ?? 0))),
    values: (_, { ids }) => Promise.resolve(new Float32Array(ids.length)),
    beginUpdate({ tag }, _, step) {
      policy = `${tag} ${step}`;
      return Promise.resolve();
    },
    forwardBackward: (rows) => Promise.resolve(resultOf(rows)),
    async optimizerStep() {
      await delay(stepSeconds * 1000);
      policy = createHash('sha256').update(policy).digest('hex');
      return { gradientNorm: 1, applied: true };
    },
    async save(folder) {
      const [weightsPath, optimizerPath] = [join(folder, 'weights'), join(folder, 'optimizer')];
      await writeFile(weightsPath, policy);
      await writeFile(optimizerPath, `moments of ${policy}`);
      const hash = createHash('sha256').update(policy).digest('hex');
      return { weightsPath, optimizerPath, weightsTag: `sha256:${hash}` };
    },
  };
}

function resultOf({ ids }: RowBatch): Awaited<ReturnType<Engine['forwardBackward']>> {
  const zeros = new Float32Array(ids.length);
  return { loss: 0, logprobs: zeros, entropies: zeros, entropy: 1, values: new Float32Array(0), metrics: {} };
}
