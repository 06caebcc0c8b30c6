/** An episode as the store holds it: turns and environment replies, by their coordinates. */
import { keys } from '../../core/ids.ts';
import type { Episode } from '../../core/contracts.ts';
import { turnSchema, type Turn } from '../../core/records.ts';
import type { Store } from '../../store/store.ts';
import { environmentReplySchema, type EnvironmentReply } from '../environment/environment-reply.ts';

export function turnKey({ iteration, group, sample }: Coordinates, turn: number): string {
  return keys.turn(iteration, group, sample, turn);
}

export function stepKey({ iteration, group, sample }: Coordinates, turn: number): string {
  return keys.environmentStep(iteration, group, sample, turn);
}

export type Coordinates = Pick<Episode, 'run' | 'iteration' | 'group' | 'sample'>;

export interface Conversation {
  turns: Turn[];
  replies: EnvironmentReply[];
}

/** Turns 0..n-1 that are recorded, each with the reply to it where that is recorded too. */
export async function readConversation(store: Store, episode: Coordinates): Promise<Conversation> {
  const conversation: Conversation = { turns: [], replies: [] };
  for (let turn = 0; ; turn++) {
    const recorded = await store.findResult(episode.run, turnKey(episode, turn));
    if (recorded === undefined) return conversation;
    conversation.turns.push(turnSchema.parse(recorded.value));
    const reply = await store.findResult(episode.run, stepKey(episode, turn));
    if (reply === undefined) return conversation;
    conversation.replies.push(environmentReplySchema.parse(reply.value));
  }
}
