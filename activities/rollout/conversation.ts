/** An episode as the store holds it: its opening, turns and environment replies, by their coordinates. */
import { keys } from '../../core/ids.ts';
import type { Episode } from '../../core/contracts.ts';
import { turnSchema, type Task, type Turn } from '../../core/records.ts';
import { seedAt } from '../../core/seeds.ts';
import type { Tokenizer } from '../../gpu/tokenizer/index.ts';
import type { Store } from '../../store/store.ts';
import { environmentReplySchema, type EnvironmentReply } from '../environment/environment-reply.ts';
import type { EpisodeSoFar } from '../environment/environment.ts';

export function openingKey({ iteration, group, sample }: Coordinates): string {
  return keys.environmentOpening(iteration, group, sample);
}

export function turnKey({ iteration, group, sample }: Coordinates, turn: number): string {
  return keys.turn(iteration, group, sample, turn);
}

export function stepKey({ iteration, group, sample }: Coordinates, turn: number): string {
  return keys.environmentStep(iteration, group, sample, turn);
}

export type Coordinates = Pick<Episode, 'run' | 'iteration' | 'group' | 'sample'>;

export interface Conversation {
  /** The first observation, or a verdict at once; it is recorded only where a program gives it. */
  opening: EnvironmentReply | undefined;
  turns: Turn[];
  replies: EnvironmentReply[];
}

/** Turns 0..n-1 that are recorded, each with the reply to it where that is recorded too. */
export async function readConversation(store: Store, episode: Coordinates): Promise<Conversation> {
  const opening = await store.findResult(episode.run, openingKey(episode));
  const conversation: Conversation = {
    opening: opening && environmentReplySchema.parse(opening.value),
    turns: [],
    replies: [],
  };
  for (let turn = 0; ; turn++) {
    const recorded = await store.findResult(episode.run, turnKey(episode, turn));
    if (recorded === undefined) return conversation;
    conversation.turns.push(turnSchema.parse(recorded.value));
    const reply = await store.findResult(episode.run, stepKey(episode, turn));
    if (reply === undefined) return conversation;
    conversation.replies.push(environmentReplySchema.parse(reply.value));
  }
}

/** The observations before each of `turns` responses; an opening that is not recorded is the text of the task. */
export function observationsOf({ opening, replies }: Conversation, task: Task, turns: number): string[] {
  const said = [opening ?? { observation: task.prompt }, ...replies].slice(0, turns);
  return said.flatMap((reply) => ('observation' in reply ? [reply.observation] : []));
}

/** What an environment is told of an episode. */
export function episodeSoFar(
  { run, iteration, group }: Omit<Coordinates, 'sample'>,
  key: string,
  runSeed: number,
  said: Pick<EpisodeSoFar, 'task' | 'observations' | 'responses'>,
): EpisodeSoFar {
  const [seed] = seedAt(runSeed, 'environment', iteration, group);
  return { run, key, seed, ...said };
}

export function responsesOf(turns: readonly Turn[], tokenizer: Tokenizer): string[] {
  return turns.map(({ responseIds }) => tokenizer.decode(responseIds));
}
