/** A whole episode in one process: observation, response, reply, until the environment has a verdict or a response is given up. */
import type { Task, Turn } from '../../core/records.ts';
import type { Verdict } from '../environment/environment-reply.ts';
import type { Environment } from '../environment/environment.ts';
import { openEpisode, replyToTurn } from '../environment/reply-to-turn.ts';
import type { OpenedRun } from '../run/opening.ts';
import { episodeSoFar, responsesOf, type Coordinates } from './conversation.ts';
import type { Response } from './policy-sampler.ts';
import { hasRoomAfter } from './room.ts';
import type { Purpose } from './sampling.ts';

export interface EpisodeParts {
  opened: OpenedRun;
  environment: Environment;
  purpose: Purpose;
  task: Task;
  coordinates: Coordinates;
  /** Business key of the episode. */
  key: string;
  /** Tokens to put before the next response. */
  observationIds(turns: readonly Turn[], observation: string): readonly number[];
  /** A response of the policy after `ids`, the whole context, in turn number `turn`. */
  respond(ids: readonly number[], turn: number): Promise<Response>;
}

/** `verdict` is null when the last response was given up. */
export async function playEpisode(
  { opened, environment, purpose, task, coordinates, key, observationIds, respond }: EpisodeParts,
  signal: AbortSignal,
): Promise<{ turns: Turn[]; verdict: Verdict | null }> {
  const turns: Turn[] = [];
  const observations: string[] = [];
  const soFar = () => {
    const responses = responsesOf(turns, opened.tokenizer);
    return episodeSoFar(coordinates, key, opened.recipe.seed, { task, observations, responses });
  };
  let reply = await openEpisode(environment, soFar(), signal);
  while (!('verdict' in reply)) {
    observations.push(reply.observation);
    const nextIds = observationIds(turns, reply.observation);
    const response = await respond([...contextOf(turns), ...nextIds], turns.length);
    turns.push({ observationIds: [...nextIds], ...response });
    if (response.finish === 'abort') return { turns, verdict: null };
    const limits = {
      truncated: response.finish === 'length',
      hasRoomAfter: (observation: string) => hasRoomAfter(opened, purpose, turns, observation),
    };
    reply = await replyToTurn(environment, soFar(), limits, signal);
  }
  return { turns, verdict: reply.verdict };
}

/** All tokens of some turns, in order. */
export function contextOf(turns: readonly Turn[]): number[] {
  return turns.flatMap(({ observationIds, responseIds }) => [...observationIds, ...responseIds]);
}
