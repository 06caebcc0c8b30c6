/**
 * A fork: a run that begins with a policy version of another run of the same store. It has its own keys, and reads nothing of the
 * other run once it is opened. Its recipe may differ in everything but the shape of the policy.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Fork, TrainRunInput } from '../../core/contracts.ts';
import { RekindleError } from '../../core/errors.ts';
import { keys } from '../../core/ids.ts';
import { needsWarmStart, policyOf, type Inherited } from '../../core/policy.ts';
import { modelHubPattern, type Recipe } from '../../core/recipe.ts';
import type { LogEntry } from '../../core/records.ts';
import type { Store } from '../../store/store.ts';
import { loadRecipe } from '../recipe/load-recipe.ts';
import { openingSchema, type Opening } from './opening.ts';

export interface ForkPoint {
  from: Fork;
  /** The opening of the other run. */
  opening: Opening;
  entry: LogEntry;
  /** The recipe of the new run, with the other's model. */
  recipe: Recipe;
  inherited: Inherited;
}

/** Throws RunNotFoundError for a run or version that the store lacks, RecipeError for a recipe that does not fit its policy. */
export async function findForkPoint(
  store: Store,
  from: Fork,
  given: Pick<TrainRunInput, 'recipe' | 'set'>,
): Promise<ForkPoint> {
  const recorded = await store.findResult(from.run, keys.opening());
  const head = await store.head(from.run);
  if (recorded === undefined || head === undefined) {
    throw new RekindleError(
      'RunNotFoundError',
      `from: run ${from.run} is not in the store ${store.location}`,
      {
        hint: 'A fork needs the store of the run that it begins with.',
      },
    );
  }
  const opening = openingSchema.parse(recorded.value);
  const entry = await store.entry(from.run, from.version);
  if (entry === undefined) {
    throw new RekindleError(
      'RunNotFoundError',
      `from: run ${from.run} has no policy version ${from.version}`,
      {
        hint: `Its newest is ${head.version}.`,
      },
    );
  }
  const recipe = await loadRecipe(given.recipe ?? opening.recipe, given.set ?? []);
  requireSamePolicyShape(recipe, opening.recipe, from);
  const { optimizer, optimizerStep } = inheritedOptimizer(entry, recipe, opening.recipe, from);
  const warmStarted = opening.recipe.warmStart !== undefined && !needsWarmStart(opening.recipe, entry);
  return {
    from,
    opening,
    entry,
    recipe: { ...recipe, model: opening.recipe.model },
    inherited: { optimizer, optimizerStep, warmStarted },
  };
}

function requireSamePolicyShape(recipe: Recipe, other: Recipe, { run }: Fork): void {
  const differences = [
    ...differingPaths('model', withoutRevision(recipe.model, other.model), other.model),
    ...differingPaths('adapter', recipe.adapter, other.adapter),
  ];
  if (differences.length === 0) return;
  const lines = differences.map(
    ({ path, here, there }) => `  ${path}: ${show(here)}; run ${run} has ${show(there)}`,
  );
  throw new RekindleError(
    'RecipeError',
    [
      `a fork has the model and adapter of the run that it begins with; in recipe ${recipe.name}`,
      ...lines,
    ].join('\n'),
    { hint: 'Leave the recipe out to take that of the other run, and change it with --set.' },
  );
}

/** A model of the hub that is named without a revision or file is the one that the other run found. */
function withoutRevision(model: Recipe['model'], other: Recipe['model']): Recipe['model'] {
  const [, repository, revision, file] = modelHubPattern.exec(model.hub ?? '') ?? [];
  const [, otherRepository, otherRevision, otherFile] = modelHubPattern.exec(other.hub ?? '') ?? [];
  const same =
    repository !== undefined &&
    repository === otherRepository &&
    (revision ?? otherRevision) === otherRevision &&
    (file ?? otherFile) === otherFile;
  return same ? { ...model, hub: other.hub } : model;
}

interface Difference {
  path: string;
  here: unknown;
  there: unknown;
}

function differingPaths(path: string, here: unknown, there: unknown): Difference[] {
  if (isDeepStrictEqual(here, there)) return [];
  if (!isMap(here) || !isMap(there)) return [{ path, here, there }];
  const names = new Set([...Object.keys(here), ...Object.keys(there)]);
  return [...names].flatMap((name) => differingPaths(`${path}.${name}`, here[name], there[name]));
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function show(value: unknown): string {
  return value === undefined ? 'nothing' : JSON.stringify(value);
}

function inheritedOptimizer(
  entry: LogEntry,
  recipe: Recipe,
  other: Recipe,
  { run, version, optimizer }: Fork,
): Pick<Inherited, 'optimizer' | 'optimizerStep'> {
  if (optimizer === 'fresh') return { optimizer: null, optimizerStep: 0 };
  const policy = policyOf(entry, 'reinforcement');
  if (policy.optimizer === null) {
    throw new RekindleError(
      'UsageError',
      `from.optimizer: keep, but policy version ${version} of run ${run} has no optimizer state of reinforcement`,
      { hint: 'Begin with a fresh one, or with a later version.' },
    );
  }
  if (!isDeepStrictEqual(recipe.training.frozen, other.training.frozen)) {
    throw new RekindleError(
      'RecipeError',
      `from.optimizer: keep needs the same trained tensors: training.frozen is ${show(recipe.training.frozen)}, ` +
        `run ${run} has ${show(other.training.frozen)}`,
      { hint: 'Begin with a fresh optimizer state to train other tensors.' },
    );
  }
  return policy;
}
