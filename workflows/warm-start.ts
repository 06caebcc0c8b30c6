/** Supervised training on reference answers before reinforcement, in chunks of steps that are each committed as a policy version. */
import { setCurrentDetails, setHandler } from '@temporalio/workflow';
import { policyOf } from '../core/policy.ts';
import type { Recipe } from '../core/recipe.ts';
import type { LogEntry } from '../core/records.ts';
import { cpu, train } from './activities.ts';
import { phase, type PhaseState } from './steering.ts';

export interface WarmStartInput {
  run: string;
  recipe: Recipe;
  head: LogEntry;
}

export async function warmStart({ run, recipe, head }: WarmStartInput): Promise<LogEntry> {
  const { heartbeatSeconds } = recipe.schedule;
  const maxSteps = recipe.warmStart?.maxSteps ?? 0;
  const current: PhaseState = {
    phase: 'update',
    since: new Date().toISOString(),
    done: head.optimizerStep,
    total: maxSteps,
  };
  setHandler(phase, () => current);

  let entry = head;
  while (!entry.phaseFinished) {
    const parent = policyOf(entry, 'warm-start');
    const chunk = entry.iteration + 1;
    const startedAt = Date.now();
    const candidate = await train(heartbeatSeconds).warmStartActor({
      run,
      chunk,
      firstStep: entry.optimizerStep,
      parent,
    });
    entry = await cpu(heartbeatSeconds).commitVersion({
      entry: {
        run,
        version: parent.version + 1,
        parent: parent.weights.hash,
        kind: 'warm-start',
        iteration: chunk,
        update: candidate.update,
        weights: candidate.weights,
        optimizer: candidate.optimizer,
        optimizerStep: candidate.optimizerStep,
        batch: null,
        trajectories: [],
        rows: null,
        outcomes: {},
        hyperparameters: {},
        metrics: { ...candidate.metrics, 'time/update_seconds': (Date.now() - startedAt) / 1000 },
        phaseFinished: candidate.phaseFinished,
      },
    });
    current.done = entry.optimizerStep;
    setCurrentDetails(
      `Warm start: step **${entry.optimizerStep}** of at most ${maxSteps}, loss **${entry.metrics['warm_start/loss']?.toFixed(3) ?? '—'}** ` +
        `(stops below ${recipe.warmStart?.stopLoss ?? '—'})`,
    );
  }
  return entry;
}
