/**
 * The environment's part of an episode, the same in both durabilities: how an episode opens, what follows a turn, when it ends for
 * want of room, and when a faulty environment is given up.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { isCause } from '../../core/errors.ts';
import type { EnvironmentReply } from './environment-reply.ts';
import type { Environment, EpisodeSoFar } from './environment.ts';

/** A fault is met by a fresh start this often, with a growing pause; then the episode is lost (`infra-failed`). */
const starts = 4;
const firstPause = 200;

export interface TurnLimits {
  /** The last response ran into the length limit. */
  truncated: boolean;
  /** Whether another turn fits after an observation. */
  hasRoomAfter(observation: string): boolean;
}

/** The first observation; or a verdict when the environment cannot be opened. Throws its permanent errors. */
export function openEpisode(
  environment: Environment,
  episode: EpisodeSoFar,
  signal: AbortSignal,
): Promise<EnvironmentReply> {
  return patiently(signal, async () => ({ observation: await environment.open(episode, signal) }));
}

/** The reply to the last response of an episode. Throws the environment's permanent errors. */
export function replyToTurn(
  environment: Environment,
  episode: EpisodeSoFar,
  { truncated, hasRoomAfter }: TurnLimits,
  signal: AbortSignal,
): Promise<EnvironmentReply> {
  return patiently(signal, async () => {
    const reply = await environment.step(episode, signal);
    if ('verdict' in reply) {
      return truncated ? { verdict: { ...reply.verdict, outcome: 'truncated' } } : reply;
    }
    if (!truncated && hasRoomAfter(reply.observation)) return reply;
    const whole = { ...episode, observations: [...episode.observations, reply.observation] };
    const reason = truncated ? 'a response was cut off' : 'there is no room for another turn';
    return { verdict: { outcome: 'truncated', reason, ...(await environment.end(whole, signal)) } };
  });
}

async function patiently(
  signal: AbortSignal,
  action: () => Promise<EnvironmentReply>,
): Promise<EnvironmentReply> {
  for (let start = 1; ; start++) {
    try {
      return await action();
    } catch (error) {
      signal.throwIfAborted();
      if (!isCause(error, 'EnvironmentError') || !error.retryable) throw error;
      if (start === starts) {
        return { verdict: { outcome: 'infra-failed', reason: error.message, rewards: {}, reward: 0 } };
      }
      await delay(firstPause * 2 ** (start - 1), undefined, { signal });
    }
  }
}
