/** One trajectory as a workflow: model call → environment step, until the environment has a verdict. A crash costs at most one turn. */
import type { Episode } from '../core/contracts.ts';
import { env, rollout } from './activities.ts';

export interface EpisodeInput {
  episode: Episode;
  heartbeatSeconds: number;
}

export async function episode({
  episode,
  heartbeatSeconds,
}: EpisodeInput): Promise<{ turns: number; tokens: number }> {
  let tokens = 0;
  for (let turn = 0; ; turn++) {
    tokens += (await rollout(heartbeatSeconds).agentTurn({ episode, turn })).tokens;
    const { done } = await env(heartbeatSeconds).environmentStep({ episode, turn });
    if (done) return { turns: turn + 1, tokens };
  }
}
