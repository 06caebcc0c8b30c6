/**
 * The user's own environment: a program that speaks JSON lines, a process for each episode. What the process knows is a cache. It
 * is used while it stands where the episode does; otherwise another is started and told the recorded responses, and must say
 * what was recorded of the first.
 */
import { RekindleError } from '../../../core/errors.ts';
import type { EnvironmentSettings, RewardSettings } from '../../../core/recipe.ts';
import { combineRewards, rewardName, type CombinedRewards } from '../../../core/rewards/index.ts';
import type { Environment, EpisodeSoFar } from '../environment.ts';
import type { LiveEpisode, LivePrograms } from './live-programs.ts';
import type { ProgramLabels } from './program.ts';
import { checkRewards, readReply, writeMessage, type Message, type ReplyTo } from './wire.ts';

export type CommandSettings = Extract<EnvironmentSettings, { kind: 'command' }>;

export function command(
  settings: CommandSettings,
  rewards: RewardSettings[],
  programs: LivePrograms,
): Environment {
  const given = rewards.filter(({ kind }) => kind === 'environment').map(rewardName);

  return {
    open: (episode, signal) =>
      withProgram(episode, 0, signal, (live) => Promise.resolve(live.observations[0]!)),

    step: (episode, signal) =>
      withProgram(episode, episode.responses.length - 1, signal, async (live) => {
        const response = episode.responses.at(-1)!;
        const reply = await ask(live, { type: 'step', response }, signal);
        if ('rewards' in reply) {
          void programs.stop(live);
          return { verdict: { outcome: 'scored', ...score(episode, live, reply.rewards) } };
        }
        const { observation } = reply;
        remember(live, response, observation);
        if (episode.responses.length < settings.maxTurns) return { observation };
        return {
          verdict: {
            outcome: 'truncated',
            reason: `${settings.maxTurns} turns`,
            ...(await ended(episode, live, signal)),
          },
        };
      }),

    end: (episode, signal) =>
      withProgram(episode, episode.responses.length, signal, (live) => ended(episode, live, signal)),
  };

  async function ended(
    episode: EpisodeSoFar,
    live: LiveEpisode,
    signal: AbortSignal,
  ): Promise<CombinedRewards> {
    const reply = await ask(live, { type: 'end' }, signal);
    void programs.stop(live);
    return score(episode, live, reply.rewards);
  }

  function score(
    { responses, task }: EpisodeSoFar,
    { program }: LiveEpisode,
    said: Readonly<Record<string, number>>,
  ): CombinedRewards {
    return combineRewards(rewards, responses.at(-1) ?? '', task, checkRewards(said, given, program.lines));
  }

  /** Runs an action with the program as it is after `turns` responses; it waits for the next turn unless that failed. */
  async function withProgram<T>(
    episode: EpisodeSoFar,
    turns: number,
    signal: AbortSignal,
    action: (live: LiveEpisode) => Promise<T>,
  ): Promise<T> {
    const labels = { run: episode.run, episode: episode.key };
    const live = await liveAt(episode, turns, labels, signal);
    try {
      const result = await action(live);
      programs.keep(labels, live);
      return result;
    } catch (error) {
      void programs.stop(live);
      throw error;
    }
  }

  async function liveAt(
    episode: EpisodeSoFar,
    turns: number,
    labels: ProgramLabels,
    signal: AbortSignal,
  ): Promise<LiveEpisode> {
    const kept = programs.take(labels);
    if (kept !== undefined && standsAt(kept, episode, turns)) return kept;
    if (kept !== undefined) void programs.stop(kept);
    const live = programs.start(settings.command, labels);
    try {
      await replay(live, episode, turns, signal);
      return live;
    } catch (error) {
      void programs.stop(live);
      throw error;
    }
  }

  async function replay(
    live: LiveEpisode,
    { task, seed, observations, responses }: EpisodeSoFar,
    turns: number,
    signal: AbortSignal,
  ): Promise<void> {
    const { observation } = await ask(live, { type: 'open', task, seed }, signal);
    live.observations.push(checkRepeated(observations[0], observation, 0));
    for (const [turn, response] of responses.slice(0, turns).entries()) {
      const reply = await ask(live, { type: 'step', response }, signal);
      const said = 'observation' in reply ? reply.observation : '(the end of the episode)';
      remember(live, response, checkRepeated(observations[turn + 1], said, turn + 1));
    }
  }

  async function ask<T extends Message['type']>(
    { program }: LiveEpisode,
    message: Message & { type: T },
    signal: AbortSignal,
  ): Promise<ReplyTo<T>> {
    const line = await program.ask(writeMessage(message), settings.timeoutSeconds, signal);
    return readReply<T>(message.type, line, program.lines);
  }
}

function remember(live: LiveEpisode, response: string, observation: string): void {
  live.responses.push(response);
  live.observations.push(observation);
}

function standsAt(
  { program, observations, responses }: LiveEpisode,
  episode: EpisodeSoFar,
  turns: number,
): boolean {
  return (
    program.isUsable &&
    responses.length === turns &&
    responses.every((response, i) => response === episode.responses[i]) &&
    observations.every((observation, i) => observation === (episode.observations[i] ?? observation))
  );
}

/** `recorded` is undefined for what was never recorded. */
function checkRepeated(recorded: string | undefined, said: string, turn: number): string {
  if (recorded === undefined || recorded === said) return said;
  throw new RekindleError(
    'EnvironmentError',
    `told the same as before, the program says something else at turn ${turn}: ${JSON.stringify(said.slice(0, 200))}, ` +
      `recorded is ${JSON.stringify(recorded.slice(0, 200))}; it is not deterministic`,
    {
      hint: 'Let it draw from the seed that it is given, and depend on no clock and no state outside of it.',
    },
  );
}
