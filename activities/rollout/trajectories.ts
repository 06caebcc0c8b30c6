/** Trajectories: made of an episode that is over, and read from the parts that shards persisted. */
import { trajectorySchema, type Task, type Trajectory, type Turn } from '../../core/records.ts';
import type { Ref } from '../../core/refs.ts';
import type { Tokenizer } from '../../gpu/tokenizer/index.ts';
import { getJsonl } from '../../store/jsonl.ts';
import type { Store } from '../../store/store.ts';
import type { Verdict } from '../environment/environment-reply.ts';
import { responsesOf, type Coordinates } from './conversation.ts';

/** The trajectory of an episode; `response` is its sampled text, a line break between turns. */
export function trajectoryOf(
  { iteration, group, sample }: Omit<Coordinates, 'run'>,
  task: Task,
  turns: Turn[],
  verdict: Verdict,
  tokenizer: Tokenizer,
): Trajectory {
  const response = responsesOf(turns, tokenizer).join('\n');
  return { iteration, group, sample, taskId: task.id, turns, response, ...verdict };
}

/** Parts hold each (group, sample) once. */
export async function readTrajectories(store: Store, parts: Ref[]): Promise<Trajectory[]> {
  const trajectories: Trajectory[] = [];
  for (const part of parts) trajectories.push(...(await getJsonl(store, part, trajectorySchema)));
  return trajectories;
}
