/**
 * An environment answers the responses of a policy. Whatever it keeps between calls is a cache: each call gets the whole episode
 * so far, so it can be made anywhere and any number of times, and gives the same reply.
 */
import type { CombinedRewards } from '../../core/rewards/index.ts';
import type { Task } from '../../core/records.ts';
import type { EnvironmentReply } from './environment-reply.ts';

/** What was said up to now. The first observation opens the episode; observation i + 1 answers response i. */
export interface EpisodeSoFar {
  run: string;
  /** The business key of the episode, relative to its run. */
  key: string;
  task: Task;
  /** For whatever the environment draws; the same for all samples of a task, which are compared with each other. */
  seed: number;
  observations: readonly string[];
  responses: readonly string[];
}

/**
 * A fault of the environment (not of the policy) is an EnvironmentError, permanent where a fresh start cannot mend it.
 */
export interface Environment {
  /** The first observation: the text of the first model call. */
  open(episode: EpisodeSoFar, signal: AbortSignal): Promise<string>;
  /** The reply to the last response, whose observations and responses are equal in number. */
  step(episode: EpisodeSoFar, signal: AbortSignal): Promise<EnvironmentReply>;
  /** What an episode is worth that ends here for want of room, with an observation that nobody will answer. */
  end(episode: EpisodeSoFar, signal: AbortSignal): Promise<CombinedRewards>;
}
