import { expect, it } from 'vitest';
import type { Completion, GenerationRequest } from '../../gpu/engine-port.ts';
import { inLanes } from './in-lanes.ts';
import { TurnQueue } from './turn-queue.ts';

it('turns that are ready together make one request, in which equal prompts stand once', async () => {
  const requests: GenerationRequest['prompts'][] = [];
  const queue = new TurnQueue((prompts, onCompletions) => {
    requests.push(prompts);
    const completions = prompts.flatMap(({ ids, seeds }, prompt) =>
      seeds.map(([seed], sample): Completion => ({
        prompt,
        sample,
        ids: [...ids, seed],
        logprobs: [],
        finish: 'stop',
      })),
    );
    onCompletions(completions.reverse());
    return Promise.resolve();
  });
  const sampled = await Promise.all([
    queue.sample([1, 2], [10, 0]),
    queue.sample([3], [11, 0]),
    queue.sample([1, 2], [12, 0]),
  ]);
  expect(requests).toEqual([
    [
      {
        ids: [1, 2],
        seeds: [
          [10, 0],
          [12, 0],
        ],
      },
      { ids: [3], seeds: [[11, 0]] },
    ],
  ]);
  expect(sampled.map(({ ids }) => ids)).toEqual([
    [1, 2, 10],
    [3, 11],
    [1, 2, 12],
  ]);
});

it('a request that fails fails its turns', async () => {
  const queue = new TurnQueue(() => Promise.reject(new Error('engine ended')));
  await expect(queue.sample([1], [1, 0])).rejects.toThrow('engine ended');
});

it('lanes stop with the first failure, which is thrown when all work has ended', async () => {
  const ended: number[] = [];
  const { signal } = new AbortController();
  const working = inLanes([1, 2, 3, 4], 2, signal, (failed) => async (item) => {
    if (item === 2) throw new Error('two');
    await new Promise((resolve) => failed.addEventListener('abort', resolve));
    await new Promise((resolve) => setImmediate(resolve));
    ended.push(item);
  });
  await expect(working).rejects.toThrow('two');
  expect(ended).toEqual([1]);
});
