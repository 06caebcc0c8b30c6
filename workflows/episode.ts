/** One trajectory as a workflow: model call → environment step, until the environment has a verdict. A crash costs at most one turn. */
import type { Episode } from '../core/contracts.ts';
import { env, rollout } from './activities.ts';

export interface EpisodeInput {
  episode: Episode;
  heartbeatSeconds: number;
  /** The first observation is made by a program. */
  opensProgram: boolean;
}

export async function episode({
  episode,
  heartbeatSeconds,
  opensProgram,
}: EpisodeInput): Promise<{ turns: number; tokens: number }> {
  let tokens = 0;
  if (opensProgram && (await env(heartbeatSeconds).openEnvironment({ episode })).done)
    return { turns: 0, tokens };
  for (let turn = 0; ; turn++) {
    tokens += (await rollout(heartbeatSeconds).agentTurn({ episode, turn })).tokens;
    const { done } = await env(heartbeatSeconds).environmentStep({ episode, turn });
    if (done) return { turns: turn + 1, tokens };
  }
}
