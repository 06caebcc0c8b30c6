import { describe, expect, it } from 'vitest';
import { RekindleError } from '../../core/errors.ts';
import type { EnvironmentReply } from './environment-reply.ts';
import type { Environment } from './environment.ts';
import { openEpisode, replyToTurn } from './reply-to-turn.ts';

const task = { id: 't', prompt: 'p', answer: 'a' };
const episode = { run: 'r', key: 'e', task, seed: 1, observations: ['p'], responses: ['x'] };
const { signal } = new AbortController();
const limits = { truncated: false, hasRoomAfter: () => true };

/** Replies with, or throws, the given ones in turn. */
function scripted(...replies: (EnvironmentReply | Error)[]): Environment & { steps: number } {
  const environment = {
    steps: 0,
    open: () => environment.step().then((reply) => ('observation' in reply ? reply.observation : '')),
    step: () => {
      const reply = replies[environment.steps++]!;
      return reply instanceof Error ? Promise.reject(reply) : Promise.resolve(reply);
    },
    end: ({ observations }: typeof episode) =>
      Promise.resolve({ rewards: { turns: observations.length }, reward: observations.length }),
  };
  return environment;
}

const fault = new RekindleError('EnvironmentError', 'the program ended');

describe('the reply to a turn', () => {
  it('is the observation while there is room for another turn', async () => {
    expect(await replyToTurn(scripted({ observation: 'o' }), episode, limits, signal)).toEqual({
      observation: 'o',
    });
  });

  it.each([
    ['there is no room for another turn', { truncated: false, hasRoomAfter: (text: string) => text !== 'o' }],
    ['a response was cut off', { truncated: true, hasRoomAfter: () => true }],
  ])('is a verdict, with the observation that nobody answers, when %s', async (reason, limits) => {
    expect(await replyToTurn(scripted({ observation: 'o' }), episode, limits, signal)).toEqual({
      verdict: { outcome: 'truncated', reason, rewards: { turns: 2 }, reward: 2 },
    });
  });

  it('keeps the rewards of a response that was cut off when the environment ends with it', async () => {
    const scored: EnvironmentReply = { verdict: { outcome: 'scored', rewards: { a: 1 }, reward: 1 } };
    expect(await replyToTurn(scripted(scored), episode, { ...limits, truncated: true }, signal)).toEqual({
      verdict: { outcome: 'truncated', rewards: { a: 1 }, reward: 1 },
    });
  });
});

describe('a fault of the environment', () => {
  it('that passes leaves no trace', async () => {
    const environment = scripted(fault, fault, { observation: 'o' });
    expect(await replyToTurn(environment, episode, limits, signal)).toEqual({ observation: 'o' });
  });

  it('that stays loses the episode to the infrastructure, never to the policy', async () => {
    const environment = scripted(fault, fault, fault, fault);
    expect(await openEpisode(environment, episode, signal)).toEqual({
      verdict: { outcome: 'infra-failed', reason: 'the program ended', rewards: {}, reward: 0 },
    });
    expect(environment.steps).toBe(4);
  });

  it('that no fresh start can mend is thrown at once', async () => {
    const permanent = new RekindleError('EnvironmentError', 'no such program', { permanent: true });
    const environment = scripted(permanent);
    await expect(replyToTurn(environment, episode, limits, signal)).rejects.toBe(permanent);
    expect(environment.steps).toBe(1);
  });
});
