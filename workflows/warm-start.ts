/** One chunk of the supervised warm start before reinforcement: some optimizer steps, committed as a policy version. */
import { setCurrentDetails } from '@temporalio/workflow';
import { policyOf } from '../core/policy.ts';
import type { Recipe } from '../core/recipe.ts';
import type { LogEntry } from '../core/records.ts';
import { cpu, train } from './activities.ts';

export interface WarmStartInput {
  run: string;
  recipe: Recipe;
  head: LogEntry;
}

export async function warmStart({ run, recipe, head }: WarmStartInput): Promise<LogEntry> {
  const { heartbeatSeconds } = recipe.schedule;
  const parent = policyOf(head, 'warm-start');
  const chunk = head.iteration + 1;
  const startedAt = Date.now();
  setCurrentDetails(
    `Warm start from step ${parent.optimizerStep}, at most ${recipe.warmStart?.maxSteps ?? 0} steps`,
  );
  const candidate = await train(heartbeatSeconds).warmStartActor({
    run,
    chunk,
    firstStep: parent.optimizerStep,
    parent,
  });
  const entry = await cpu(heartbeatSeconds).commitVersion({
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
  const loss = entry.metrics['warm_start/loss']?.toFixed(3) ?? '—';
  setCurrentDetails(
    `Warm start, step **${entry.optimizerStep}**: loss **${loss}**, ends below ${recipe.warmStart?.stopLoss ?? '—'}`,
  );
  return entry;
}
