/**
 * An instant engine whose responses take their time, each at a pace of its own, token by token: what is aborted has a part of its
 * tokens. A token is a function of the weights, the seed and its position in the request, so a test can tell who sampled it.
 */
import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { integerAt, uniformAt, type Seed } from '../../core/seeds.ts';
import type { Completion, Engine } from '../../gpu/engine-port.ts';
import { instantEngine, type EngineTimes } from './instant-engine.ts';

export interface Pace extends Omit<EngineTimes, 'generateSeconds'> {
  /** Seconds of a token, on average; a response takes from a fifth of that to nine times as much, most of them little. */
  tokenSeconds: number;
}

const [firstLetter, endOfResponse] = [97, 10];

/** The token at a position of what one request samples. One in twenty ends the response. */
export function pacedToken(weights: string, seed: Seed, position: number): number {
  const digest = createHash('sha256').update(`${weights} ${seed.join()} ${position}`).digest();
  return digest[0]! < 13 ? endOfResponse : firstLetter + (digest[1]! % 26);
}

export function pacedEngine({ tokenSeconds, stepSeconds }: Pace): Engine {
  return {
    ...instantEngine({ generateSeconds: 0, stepSeconds }),
    async generate({ weights, prompts, sampling, onAbort }, onCompletions, signal) {
      const respond = async (prompt: number, sample: number, seed: Seed): Promise<void> => {
        const pause = tokenSeconds * 1000 * (0.2 + 8.8 * uniformAt(seed, 1000) ** 8);
        const ids: number[] = [];
        let finish: Completion['finish'] = 'abort';
        while (finish === 'abort' && signal?.aborted !== true) {
          await delay(pause, undefined, signal ? { signal } : {}).catch(() => undefined);
          if (signal?.aborted) break;
          ids.push(pacedToken(weights, seed, ids.length));
          if (ids.at(-1) === endOfResponse) finish = 'stop';
          else if (ids.length === sampling.maxNewTokens) finish = 'length';
        }
        if (finish === 'abort' && onAbort !== 'complete') signal?.throwIfAborted();
        onCompletions([
          { prompt, sample, ids, logprobs: ids.map((_, i) => -1 - integerAt(seed, i, 3)), finish },
        ]);
      };
      await Promise.all(
        prompts.flatMap(({ seeds }, prompt) => seeds.map((seed, sample) => respond(prompt, sample, seed))),
      );
    },
  };
}
