/**
 * One chunk of the supervised warm start: at most `commitEvery` steps on fresh examples with their reference answers, ended
 * earlier when the mean loss of a window falls below the recipe's bound.
 */
import { candidateSchema, warmStartInputSchema, type Candidate } from '../../core/contracts.ts';
import { RekindleError } from '../../core/errors.ts';
import { keys } from '../../core/ids.ts';
import { memoiseClaimed } from '../../store/memo.ts';
import { openDataSet } from '../data/open-data-set.ts';
import { defineActivity } from '../define-activity.ts';
import { cancellation, provenance } from '../execution.ts';
import { observationIds } from '../rollout/prompts.ts';
import { openedRun, type OpenedRun } from '../run/opening.ts';
import type { TrainActivities } from '../interface.ts';
import { engineFor, type Services } from '../services.ts';
import type { Example } from '../../core/data/data-set.ts';
import { beginUpdate, refusedCandidate, saveCandidate } from './candidate.ts';
import { meanOfSteps, optimizerStep, trainingThroughput, type StepReport } from './optimizer-loop.ts';
import type { PackedRow } from './row-batch.ts';

export function warmStartActor(services: Services): TrainActivities['warmStartActor'] {
  const { store } = services;
  return defineActivity(
    'warmStartActor',
    warmStartInputSchema,
    candidateSchema,
    async ({ run, chunk, firstStep, parent }) => {
      const opened = await openedRun(store, run);
      const { recipe } = opened;
      const settings = recipe.warmStart;
      if (settings === undefined) throw new RekindleError('UsageError', `run ${run} has no warm start`);
      return memoiseClaimed(
        store,
        run,
        keys.warmStart(chunk),
        candidateSchema,
        provenance(),
        async (): Promise<Candidate> => {
          const data = await openDataSet(recipe.data, 'train', recipe.seed);
          const engine = engineFor(services, run, opened);
          await beginUpdate(store, engine, opened, parent);
          const startedAt = Date.now();
          const steps: StepReport[] = [];
          const end = Math.min(firstStep + settings.commitEvery, settings.maxSteps);
          let finished = end === settings.maxSteps;
          for (let step = firstStep; step < end; step++) {
            cancellation().throwIfAborted();
            const rows = Array.from({ length: settings.batchRows }, (_, i) =>
              exampleRow(opened, data.exampleAt(step, i), i),
            );
            const report = await optimizerStep(engine, {
              rows,
              microbatches: [rows.map((_, i) => i)],
              aggregation: 'token-mean',
              constantLength: 1,
              loss: { name: 'cross-entropy' },
              temperature: 1,
              optimizer: settings.optimizer,
              step,
              mostSteps: settings.maxSteps,
            });
            if (!report.applied)
              return refusedCandidate(parent, { metrics: { 'update/refused': 1 }, phaseFinished: true });
            steps.push(report);
            if (windowLoss(steps, step + 1, settings.window) < settings.stopLoss) {
              finished = true;
              break;
            }
          }
          const { 'loss/policy': _, ...metrics } = meanOfSteps(steps);
          return saveCandidate(store, engine, {
            optimizerStep: firstStep + steps.length,
            metrics: {
              ...metrics,
              'warm_start/loss': mean(steps.slice(-settings.window).map((step) => step.loss)),
              ...trainingThroughput(steps, startedAt),
            },
            phaseFinished: finished,
          });
        },
      );
    },
  );
}

function exampleRow({ recipe, tokenizer }: OpenedRun, example: Example, index: number): PackedRow {
  const prompt = observationIds({ recipe, tokenizer }, [], example.prompt);
  const answer = [...tokenizer.encode(example.response), ...tokenizer.stopIds.slice(0, 1)];
  return {
    group: index,
    sample: 0,
    ids: [...prompt, ...answer],
    trained: [...prompt.map(() => 0 as const), ...answer.map(() => 1 as const)],
    logprobs: new Array<number>(prompt.length + answer.length).fill(0),
    advantage: 0,
  };
}

/** Mean loss of the window that ends at `step`, at each multiple of the window; infinite in between. */
function windowLoss(steps: readonly StepReport[], step: number, window: number): number {
  if (step % window !== 0 || steps.length < window) return Infinity;
  return mean(steps.slice(-window).map((report) => report.loss));
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
