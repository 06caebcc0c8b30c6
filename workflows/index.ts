/** The workflow types of the control pool. */
export { trainRun } from './train-run.ts';
export { trainIteration } from './train-iteration.ts';
export { warmStart } from './warm-start.ts';
export { evaluationRun } from './evaluation-run.ts';
export { rolloutGroup } from './rollout-group.ts';
export { episode } from './episode.ts';
