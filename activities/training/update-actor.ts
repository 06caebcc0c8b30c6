/**
 * The actor update: epochs of shuffled minibatches from the parent policy to a candidate. Pure in its inputs; it commits nothing.
 */
import { candidateSchema, updateActorInputSchema, type Candidate } from '../../core/contracts.ts';
import { keys } from '../../core/ids.ts';
import type { PolicyLossSettings } from '../../core/loss/settings.ts';
import { mostTrainingSteps } from '../../core/lr-schedule.ts';
import { planMinibatches } from '../../core/minibatches.ts';
import type { Hyperparameters, Recipe } from '../../core/recipe.ts';
import { rowSchema } from '../../core/records.ts';
import type { Ref } from '../../core/refs.ts';
import { schedulingOf } from '../../core/scheduling.ts';
import type { Engine } from '../../gpu/engine-port.ts';
import { getJsonl } from '../../store/jsonl.ts';
import { memoiseClaimed } from '../../store/memo.ts';
import type { Store } from '../../store/store.ts';
import { defineActivity } from '../define-activity.ts';
import { cancellation, provenance } from '../execution.ts';
import { temperatureOf } from '../rollout/sampling.ts';
import { openedRun, type OpenedRun } from '../run/opening.ts';
import type { TrainActivities } from '../interface.ts';
import { engineFor, type Services } from '../services.ts';
import { weightsSource } from '../weights/weights-source.ts';
import { beginUpdate, refusedCandidate, saveCandidate } from './candidate.ts';
import { correctOverStale } from './importance.ts';
import { meanOfSteps, optimizerStep, trainingThroughput, type StepReport } from './optimizer-loop.ts';
import { packRows, type PackedRow } from './row-batch.ts';

export function updateActor(services: Services): TrainActivities['updateActor'] {
  const { store } = services;
  return defineActivity('updateActor', updateActorInputSchema, candidateSchema, async (input) => {
    const opened = await openedRun(store, input.run);
    const { recipe } = opened;
    return memoiseClaimed(
      store,
      input.run,
      keys.candidate(input.iteration, input.parent.version + 1),
      candidateSchema,
      provenance(),
      async (): Promise<Candidate> => {
        const { training, algorithm } = recipe;
        const { parent, hyperparameters } = input;
        const startedAt = Date.now();
        const rows: PackedRow[] = await getJsonl(store, input.rows, rowSchema);
        const engine = engineFor(services, input.run, opened);
        const temperature = temperatureOf(recipe, hyperparameters);
        const loss = lossOf(recipe, hyperparameters);
        if (loss.kl !== null)
          await addReferenceLogprobs(store, engine, opened, rows, input.reference, temperature);
        const importance = await correct(store, engine, opened, rows, parent.weights, temperature);

        await beginUpdate(store, engine, opened, parent);
        const optimizer = {
          ...training.optimizer,
          learningRate: hyperparameters.learningRate ?? training.optimizer.learningRate,
        };
        const steps: StepReport[] = [];
        for (let epoch = 0; epoch < training.epochs; epoch++) {
          const minibatches = planMinibatches(
            rows.map((row) => row.ids.length),
            { ...training, seed: recipe.seed, iteration: input.iteration, epoch },
          );
          for (const { microbatches } of minibatches) {
            cancellation().throwIfAborted();
            const step = await optimizerStep(engine, {
              rows,
              microbatches,
              aggregation: algorithm.aggregation,
              constantLength: recipe.rollout.maxNewTokens,
              loss: importance === null ? loss : { ...loss, corrected: true },
              temperature,
              optimizer,
              step: parent.optimizerStep + steps.length,
              mostSteps: mostTrainingSteps(recipe),
            });
            if (!step.applied)
              return refusedCandidate(parent, { metrics: { 'update/refused': 1 }, phaseFinished: false });
            steps.push(step);
          }
        }
        return saveCandidate(store, engine, {
          optimizerStep: parent.optimizerStep + steps.length,
          metrics: {
            ...meanOfSteps(steps),
            ...(importance !== null && { 'staleness/importance': importance }),
            'optimizer/steps': steps.length,
            ...trainingThroughput(steps, startedAt),
          },
          phaseFinished: false,
        });
      },
    );
  });
}

function lossOf({ algorithm }: Recipe, changed: Hyperparameters): PolicyLossSettings {
  const { kl } = algorithm;
  const { kind, ...constants } = algorithm.loss;
  const { clipLow, clipHigh, entropyCoefficient = algorithm.entropyCoefficient } = changed;
  return {
    name: kind,
    ...constants,
    ...(clipLow !== undefined && { clipLow }),
    ...(clipHigh !== undefined && { clipHigh }),
    ...(entropyCoefficient !== undefined && { entropyCoefficient }),
    kl: kl === undefined ? null : { ...kl, coefficient: changed.klCoefficient ?? kl.coefficient },
  } as PolicyLossSettings; // a kind keeps its own constants, which the types lose when they are taken apart
}

/** Scores rows under the reference policy; the engine holds its weights beside the trained ones. */
async function addReferenceLogprobs(
  store: Store,
  engine: Engine,
  opened: OpenedRun,
  rows: PackedRow[],
  reference: Ref,
  temperature: number,
): Promise<void> {
  await engine.load(await weightsSource(store, opened, reference), 2);
  const logprobsT = await engine.score(
    reference.hash,
    packRows(
      rows,
      rows.map(() => 0),
    ),
    temperature,
  );
  let start = 0;
  for (const row of rows) {
    row.referenceLogprobs = logprobsT.slice(start, start + row.ids.length);
    start += row.ids.length;
  }
}

/** The mean importance weight of over-stale tokens; null if no row is over-stale. */
async function correct(
  store: Store,
  engine: Engine,
  opened: OpenedRun,
  rows: PackedRow[],
  weights: Ref,
  temperature: number,
): Promise<number | null> {
  if (!rows.some((row) => row.overStale)) return null;
  await engine.load(await weightsSource(store, opened, weights), 2);
  const { importanceCap: cap } = schedulingOf(opened.recipe);
  return correctOverStale(engine, rows, { weights: weights.hash, temperature, cap });
}
