/** A run's opening: the recipe and the model it began with. Recorded once, read by every other activity. */
import { z } from 'zod';
import { batchSchema, trainRunInputSchema } from '../../core/contracts.ts';
import { RekindleError } from '../../core/errors.ts';
import { keys } from '../../core/ids.ts';
import { recipeSchema } from '../../core/recipe.ts';
import type { Meta } from '../../core/records.ts';
import { refSchema } from '../../core/refs.ts';
import type { Store } from '../../store/store.ts';
import type { DecoderConfig } from '../../gpu/model/decoder-config.ts';
import { parseHuggingFaceConfig } from '../../gpu/model/huggingface-config.ts';
import { fileNames, requiredFile } from '../../gpu/model/model-files.ts';
import { loadTokenizer, type Tokenizer } from '../../gpu/tokenizer/index.ts';

export const openingSchema = z.strictObject({
  /** What the run was asked for, before it was resolved. */
  given: trainRunInputSchema,
  recipe: recipeSchema,
  /** Files of the model folder other than weights: config.json, tokenizer.json … */
  modelFiles: z.record(z.string(), refSchema),
  /** Weights of policy version 0. */
  initial: refSchema,
  /** What a fork takes over beside its weights. */
  inherited: z
    .strictObject({
      optimizer: refSchema.nullable(),
      optimizerStep: z.number().int().nonnegative(),
      warmStarted: z.boolean(),
    })
    .optional(),
  /** The frozen weights that the adapters of a LoRA run add to; null when every version holds all weights. */
  base: refSchema.nullable().default(null),
  evaluationBatch: batchSchema.nullable(),
});
export type Opening = z.infer<typeof openingSchema>;

/** The policy version of another run that a fork began with, as `meta.json` names it. */
export function originOf({ given: { from } }: Pick<Opening, 'given'>): Pick<Meta, 'from'> {
  return from === undefined ? {} : { from: { run: from.run, version: from.version } };
}

export interface OpenedRun extends Opening {
  modelFileBytes: Record<string, Uint8Array>;
  config: DecoderConfig;
  tokenizer: Tokenizer;
}

/** The most recently used last. */
const openedRuns = new Map<string, Promise<OpenedRun>>();
const KEPT_RUNS = 16;

/** The opening of a run with its tokenizer, read once by a process that does not work for many runs at a time. Throws RunNotFoundError for a run that was never opened. */
export function openedRun(store: Store, run: string): Promise<OpenedRun> {
  const key = `${store.location} ${run}`;
  const opened = openedRuns.get(key) ?? readOpening(store, run);
  openedRuns.delete(key);
  openedRuns.set(key, opened);
  opened.catch(() => openedRuns.delete(key));
  if (openedRuns.size > KEPT_RUNS) openedRuns.delete(openedRuns.keys().next().value!);
  return opened;
}

async function readOpening(store: Store, run: string): Promise<OpenedRun> {
  const recorded = await store.findResult(run, keys.opening());
  if (recorded === undefined) {
    throw new RekindleError('RunNotFoundError', `run ${run} is not in the store ${store.location}`, {
      hint: 'start every worker with the same --home or store',
    });
  }
  const opening = openingSchema.parse(recorded.value);
  const modelFileBytes: Record<string, Uint8Array> = {};
  for (const [name, ref] of Object.entries(opening.modelFiles))
    modelFileBytes[name] = await store.getBytes(ref);
  const { decoder: config } = parseHuggingFaceConfig(
    requiredFile(modelFileBytes, fileNames.config),
    fileNames.config,
  );
  return { ...opening, modelFileBytes, config, tokenizer: loadTokenizer(modelFileBytes) };
}
