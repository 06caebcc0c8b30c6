/**
 * A training run from the command line: check, start what is missing, start the run, show it, sum it up, and stop what was
 * started. Nothing is started before the recipe has passed its check.
 */
import path from 'node:path';
import { checkRecipe } from './check-recipe.ts';
import { findForkPoint } from '../activities/run/fork.ts';
import type { Fork, RunState } from '../core/contracts.ts';
import { RekindleError } from '../core/errors.ts';
import { pools } from '../core/ids.ts';
import type { Recipe } from '../core/recipe.ts';
import { findClaim } from '../deploy/home-claim.ts';
import { showProgress } from './progress/show-progress.ts';
import { connect, type Rekindle, type RunSummary } from './rekindle.ts';
import { storeOf } from './local-runs.ts';
import { checkRunId, defaultRunId } from './run-id.ts';
import { summarizeRun, renderSummary } from './run-summary.ts';
import { openStack, type Stack } from './stack.ts';
import { commandLine } from './terminal/command-line.ts';
import type { Context } from './terminal/context.ts';
import { interruptible, interruption } from './terminal/io.ts';
import { runLink } from './web-ui.ts';

export interface TrainSessionOptions {
  /** Undefined in a fork with the recipe of the run that it begins with. */
  recipe: string | undefined;
  /** The policy version of another run to begin with. */
  from?: Fork;
  run: string | undefined;
  set: string[];
  /** Returns as soon as the run has started; needs a stack that outlives this command. */
  detach: boolean;
  /** Leaves the stack up after the run, until Ctrl-C. */
  stay: boolean;
  /** Watches a run of this recipe that an earlier stack left open, instead of starting another beside it. */
  goOnWithOpenRun: boolean;
}

/** What is left running: the run, when the reader stopped watching it before its end. */
export type Left = 'nothing' | 'the run';

/** Throws the run's own error when it failed. */
export async function trainSession(context: Context, options: TrainSessionOptions): Promise<Left> {
  const { output, settings } = context;
  const recipe = await recipeToTrain(settings.home, options);
  const run = checkRunId(options.run ?? defaultRunId(recipe.name, new Date()));
  if (options.detach && context.givenAddress === undefined && !findClaim(settings.home)) {
    throw new RekindleError(
      'UsageError',
      `--detach: no stack is running in ${settings.home} to go on with the run`,
      {
        hint: `Start one that stays with \`${commandLine('up')}\`, or give the address of a Temporal server that has workers.`,
      },
    );
  }
  await storeOf(settings.home).probe();
  const stack = await interruptible(context.io, (signal) =>
    openStack({
      settings,
      address: context.givenAddress,
      pools: options.detach ? [] : pools,
      say: (line) => output.note(line),
      signal,
    }),
  );
  try {
    const state = await startAndWatch(context, options, run, stack);
    if (state !== null && options.stay && stack.ours) await stayUp(context, stack);
    return state === null && !options.detach ? 'the run' : 'nothing';
  } finally {
    await stack.stop();
  }
}

async function recipeToTrain(home: string, { recipe, from, set }: TrainSessionOptions): Promise<Recipe> {
  if (from !== undefined) return (await findForkPoint(storeOf(home), from, { recipe, set })).recipe;
  return checkRecipe(recipe!, set);
}

async function startAndWatch(
  context: Context,
  options: TrainSessionOptions,
  run: string,
  stack: Stack,
): Promise<RunState | null> {
  const { io, output, settings } = context;
  const rekindle = await connect({ ...settings, address: stack.address });
  try {
    const open = stack.ours ? await openRuns(rekindle) : [];
    const same = options.goOnWithOpenRun ? open.find(({ recipe }) => recipe === options.recipe) : undefined;
    for (const { run: id } of open) output.note(describeOpenRun(id, id === same?.run));
    const reference = options.recipe && recipeReference(options.recipe);
    const { set, from } = options;
    const handle = same
      ? rekindle.run(same.run)
      : await rekindle.train(reference, { run, set, ...(from !== undefined && { from }) });
    const link = runLink(stack.uiUrl, settings.namespace, handle.run);
    if (options.detach) {
      output.result(
        { run, webUi: link },
        `run ${run} started; watch it with: ${commandLine(`watch ${run}`)}`,
      );
      return null;
    }
    const state = await showProgress(handle, {
      io,
      output,
      link,
      notices: (listener) => stack.subscribe(listener),
    });
    if (state === null) {
      output.note(describeLeaving(handle.run, stack.ours));
      return null;
    }
    const summary = await summarizeRun(settings.home, state, link);
    output.result({ kind: 'summary', ...summary }, renderSummary(summary, output.colors));
    return state;
  } finally {
    await rekindle.close();
  }
}

/** Runs that an earlier stack of this home left open: with workers here again, they go on. */
async function openRuns(rekindle: Rekindle): Promise<RunSummary[]> {
  const runs = await rekindle.list();
  return runs.filter(({ status }) => status === 'running');
}

function describeOpenRun(run: string, watched: boolean): string {
  if (watched) return `run ${run} was left open; it goes on from its last committed version`;
  return `run ${run} was left open and goes on beside this one; end it with: ${commandLine(`stop ${run}`)}`;
}

/** A recipe file is named by its whole path, since workers have a current folder of their own. */
function recipeReference(recipe: string): string {
  return /[/\\]|\.ya?ml$/.test(recipe) ? path.resolve(recipe) : recipe;
}

function describeLeaving(run: string, ours: boolean): string {
  if (!ours) {
    const [watch, stop] = [commandLine(`watch ${run}`), commandLine(`stop ${run}`)];
    return `\nrun ${run} goes on. Watch it: ${watch}; end it: ${stop}`;
  }
  return (
    `\nStopping the server and workers that this command started. Run ${run} is not lost: it goes on at the next ` +
    `\`${commandLine('up')}\` in this folder, from the last committed version; watch it then with \`${commandLine(`watch ${run}`)}\`.`
  );
}

async function stayUp({ io, output }: Context, stack: Stack): Promise<void> {
  output.note(`\nThe stack stays up (Temporal at ${stack.address}) until Ctrl-C.`);
  await interruption(io);
  output.note('\nStopping …');
}
