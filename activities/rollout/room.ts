/** Whether an episode can go on: another turn, with a response as long as may be, must fit with all turns before it. */
import type { Turn } from '../../core/records.ts';
import type { OpenedRun } from '../run/opening.ts';
import { observationIds } from './prompts.ts';
import { maxNewTokens, type Purpose } from './sampling.ts';

/** Longest sequence: what the model takes and, in training, what one microbatch takes. */
function longestSequence({ config, recipe }: OpenedRun, purpose: Purpose): number {
  const { maxPositions } = config;
  return purpose === 'evaluation' ? maxPositions : Math.min(maxPositions, recipe.training.microbatchTokens);
}

export function hasRoomAfter(
  opened: OpenedRun,
  purpose: Purpose,
  turns: readonly Turn[],
  observation: string,
): boolean {
  const used = turns.reduce((sum, turn) => sum + turn.observationIds.length + turn.responseIds.length, 0);
  const next = observationIds(opened, turns, observation).length + maxNewTokens(opened.recipe, purpose);
  return used + next <= longestSequence(opened, purpose);
}
