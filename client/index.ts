/**
 * The programmatic interface to Rekindle; the command line is made of nothing else.
 *
 * @example
 * const rekindle = await connect();
 * const run = await rekindle.train('quickstart', { set: ['training.iterations=4'] });
 * for await (const event of run.watch()) console.log(event);
 * console.log(await run.result());
 */
export { connect, Rekindle, type RunSummary, type TrainOptions } from './rekindle.ts';
export { RunHandle } from './run-handle.ts';
export type { ConnectOptions } from './settings.ts';
export { serve, type ServeOptions, type Serving } from './serving/serve.ts';
export type { RunEvent, WatchOptions } from './watch.ts';
export type { RunState } from '../core/contracts.ts';
export { RekindleError, type Cause } from '../core/errors.ts';
export type { Hyperparameters, RecipeInput } from '../core/recipe.ts';
export type { Verification } from '../store/verify.ts';
