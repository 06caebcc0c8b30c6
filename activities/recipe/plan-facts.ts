/** What a plan needs to know of this machine and of the files that a recipe names. Reads; downloads and starts nothing. */
import { availableParallelism, totalmem } from 'node:os';
import { RekindleError } from '../../core/errors.ts';
import type { ModelShape } from '../../core/model-shape.ts';
import type { MissingPiece, PlanFacts } from '../../core/plan-schema.ts';
import type { Recipe } from '../../core/recipe.ts';
import { cachedModel } from '../../gpu/hub/hub-model.ts';
import { initialConfig } from '../../gpu/model/initialize.ts';
import { openModel } from '../../gpu/model/open-model.ts';
import { cachedHubFile } from '../data/hub-file.ts';
import { openDataSet } from '../data/open-data-set.ts';

/** Codes of the characters tokenizer: 7 bits. */
const characterCodes = 128;

export async function gatherPlanFacts(recipe: Recipe): Promise<PlanFacts> {
  const missing: MissingPiece[] = [];
  const dataNotes = await dataDownloads(recipe);
  const model = await modelShape(recipe).catch((error: unknown) => note(missing, 'ModelError', error));
  let dataSize: number | null = null;
  if (dataNotes.length === 0) {
    dataSize = await trainingSize(recipe, missing).catch((error: unknown) =>
      note(missing, 'DataError', error),
    );
  }
  const notes = [...(await modelDownloads(recipe)), ...dataNotes];
  return { model, dataSize, cores: availableParallelism(), memoryBytes: totalmem(), missing, notes };
}

async function modelDownloads({ model: { hub } }: Recipe): Promise<string[]> {
  if (hub === undefined || (await cachedModel(hub)) !== undefined) return [];
  return [`hub model ${hub} is not in the cache; the run downloads it first`];
}

async function dataDownloads({ data }: Recipe): Promise<string[]> {
  const notes: string[] = [];
  for (const source of [data.train, data.evaluation]) {
    if (source?.source !== 'gsm8k' || source.hub === undefined) continue;
    if ((await cachedHubFile(source.hub)) !== undefined) continue;
    notes.push(`hub file ${source.hub} is not in the cache; the run downloads it first`);
  }
  return notes;
}

/** Null for a model on the hub that has not been downloaded. */
async function modelShape({ model }: Recipe): Promise<ModelShape | null> {
  if (model.initialize !== undefined) return initialConfig(model.initialize, characterCodes);
  const path = model.hub === undefined ? model.path : await cachedModel(model.hub);
  return path === undefined ? null : (await openModel(path)).config;
}

async function trainingSize(
  { data, seed, evaluation }: Recipe,
  missing: MissingPiece[],
): Promise<number | null> {
  const training = await openDataSet(data, 'train', seed);
  if (evaluation === undefined) return training.size;
  const { size } = await openDataSet(data, 'evaluation', seed);
  if (size !== null && size < evaluation.tasks) {
    const message = `evaluation.tasks: ${evaluation.tasks} tasks, but the evaluation set has ${size}`;
    missing.push({ cause: 'DataError', message });
  }
  return training.size;
}

function note(missing: MissingPiece[], cause: MissingPiece['cause'], error: unknown): null {
  if (!(error instanceof RekindleError)) throw error;
  missing.push({ cause, message: error.message });
  return null;
}
