/**
 * Opens a run: resolves the recipe, creates the run folder and the initial policy, commits it as version 0. For a run that was
 * opened before, tells where its commit log stands.
 */
import { isDeepStrictEqual } from 'node:util';
import { join } from 'node:path';
import {
  openRunInputSchema,
  openRunResultSchema,
  trainRunInputSchema,
  type Fork,
  type OpenRunInput,
} from '../../core/contracts.ts';
import { RekindleError } from '../../core/errors.ts';
import { keys } from '../../core/ids.ts';
import { initialEntry } from '../../core/policy.ts';
import { mediaTypes, type Ref } from '../../core/refs.ts';
import { schedulingOf } from '../../core/scheduling.ts';
import { writeNewAdapter } from '../../gpu/adapters/adapter-files.ts';
import { adapterFileNames } from '../../gpu/adapters/peft-config.ts';
import { fileNames } from '../../gpu/model/model-files.ts';
import { prepareModel } from '../../gpu/model/prepare-model.ts';
import { memoise } from '../../store/memo.ts';
import { createRunFolder, writeConfig, writeMeta } from '../../store/run-folder.ts';
import { recordedEvaluations } from '../../store/run-history.ts';
import type { Store } from '../../store/store.ts';
import { evaluationBatch } from '../data/batches.ts';
import { openDataSet } from '../data/open-data-set.ts';
import { defineActivity } from '../define-activity.ts';
import { provenance } from '../execution.ts';
import { loadRecipe } from '../recipe/load-recipe.ts';
import type { CpuActivities } from '../interface.ts';
import type { Services } from '../services.ts';
import { findForkPoint } from './fork.ts';
import { openingSchema, originOf, type Opening } from './opening.ts';
import { pastPolicies } from './past-policies.ts';
import { summarizeLog } from './summarize-log.ts';
import { describeSurroundings } from './surroundings.ts';

export function openRun({ store, runsFolder }: Services): CpuActivities['openRun'] {
  return defineActivity('openRun', openRunInputSchema, openRunResultSchema, async (input) => {
    const opening = await memoise(store, input.run, keys.opening(), openingSchema, provenance(), () =>
      createOpening(store, input),
    );
    requireSameRun(input, opening);
    const first = initialEntry(input.run, opening.initial, opening.inherited);
    const head = (await store.head(input.run)) ?? (await store.append(first));
    const evaluations = await recordedEvaluations(store, input.run);
    const folder = await createRunFolder(runsFolder, 'training', input.run);
    await writeConfig(folder, {
      given: opening.given,
      resolved: opening.recipe,
      surroundings: describeSurroundings(),
    });
    await writeMeta(folder, {
      runId: input.run,
      recipe: opening.recipe.name,
      status: 'running',
      policyVersion: head.version,
      evaluation: { before: null, after: null },
      wallSeconds: 0,
      startedAt: input.startedAt,
      finishedAt: null,
      weights: head.weights.hash,
      store: store.location,
      ...originOf(opening),
    });
    return {
      recipe: opening.recipe,
      head,
      summary: await summarizeLog(store, input.run, opening.recipe, evaluations, input.known),
      evaluationBatch: opening.evaluationBatch,
      evaluations,
      past: await pastPolicies(store, head, schedulingOf(opening.recipe).lookahead),
    };
  });
}

function createOpening(store: Store, { input }: OpenRunInput): Promise<Opening> {
  return input.from === undefined ? openNew(store, input) : openFork(store, input, input.from);
}

async function openFork(store: Store, given: OpenRunInput['input'], from: Fork): Promise<Opening> {
  const { recipe, opening, entry, inherited } = await findForkPoint(store, from, given);
  await openDataSet(recipe.data, 'train', recipe.seed);
  return {
    given,
    recipe,
    modelFiles: opening.modelFiles,
    initial: entry.weights,
    base: opening.base,
    inherited,
    evaluationBatch: await evaluationBatch(store, recipe),
  };
}

async function openNew(store: Store, input: OpenRunInput['input']): Promise<Opening> {
  const recipe = await loadRecipe(input.recipe!, input.set ?? []);
  await openDataSet(recipe.data, 'train', recipe.seed); // what is wrong with it is told before anything is made
  const model = await prepareModel(recipe);
  const modelFiles: Record<string, Ref> = {};
  for (const [name, bytes] of Object.entries(model.files))
    modelFiles[name] = await store.putBytes(bytes, mediaTypes.json);
  const { initial, base } = await store.withScratch(async (folder) => {
    const path = join(folder, fileNames.weights);
    await model.writeWeights(path);
    const weights = await store.putFile(path, mediaTypes.safetensors);
    if (recipe.adapter === undefined) return { initial: weights, base: null };
    const adapterPath = join(folder, adapterFileNames.weights);
    await writeNewAdapter(adapterPath, model.config, recipe.adapter, recipe.seed);
    return { initial: await store.putFile(adapterPath, mediaTypes.safetensors), base: weights };
  });
  return {
    given: input,
    recipe: model.hub === undefined ? recipe : { ...recipe, model: { ...recipe.model, hub: model.hub } },
    modelFiles,
    initial,
    base,
    evaluationBatch: await evaluationBatch(store, recipe),
  };
}

/** A run id stands for one run: asked for again, after it failed or was lost, it must be asked for the same. */
function requireSameRun({ run, input }: OpenRunInput, { given }: Opening): void {
  const wanted = trainRunInputSchema.parse(input);
  if (isDeepStrictEqual(wanted, given)) return;
  throw new RekindleError(
    'RunExistsError',
    `run ${run} was opened with ${JSON.stringify(given)}, not with ${JSON.stringify(wanted)}`,
    { hint: 'Start it as it was opened to go on with it, or choose another run id.' },
  );
}
