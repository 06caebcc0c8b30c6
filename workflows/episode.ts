/** One trajectory as a workflow: model call → environment step, until the environment has a verdict. A crash costs at most one turn. */
import type { Episode } from '../core/contracts.ts';
import { env, envOn, rollout, rolloutOn } from './activities.ts';
import { HostAffinity } from './host-affinity.ts';

export interface EpisodeInput {
  episode: Episode;
  heartbeatSeconds: number;
  hostSeconds: number;
  /** The first observation is made by a program, which lives on one host. */
  opensProgram: boolean;
}

export interface EpisodeResult {
  turns: number;
  tokens: number;
}

export async function episode(input: EpisodeInput): Promise<EpisodeResult> {
  const { episode, heartbeatSeconds, hostSeconds, opensProgram } = input;
  // The host that has the conversation in its cache, and the one where the program runs.
  const model = new HostAffinity(
    rollout(heartbeatSeconds),
    (queue, seconds) => rolloutOn(queue, heartbeatSeconds, seconds),
    hostSeconds,
  );
  const environment = new HostAffinity(
    env(heartbeatSeconds),
    (queue, seconds) => envOn(queue, heartbeatSeconds, seconds),
    hostSeconds,
  );
  let tokens = 0;
  if (opensProgram && (await environment.call((on) => on.openEnvironment({ episode }))).done)
    return { turns: 0, tokens };
  for (let turn = 0; ; turn++) {
    tokens += (await model.call((on) => on.agentTurn({ episode, turn }))).tokens;
    const step = (on: ReturnType<typeof env>) => on.environmentStep({ episode, turn });
    const { done } = opensProgram ? await environment.call(step) : await step(env(heartbeatSeconds));
    if (done) return { turns: turn + 1, tokens };
  }
}
