/**
 * The metrics of a run, each with its unit and meaning: the one table that reports, charts and documentation read.
 * A name is `<subject>/<quantity>`, lower case, words joined by underscores.
 */
import { faultKinds, type FaultKind } from './fault-kinds.ts';

export interface MetricMeaning {
  unit: string;
  meaning: string;
}

const reward = 'reward';
const tokens = 'tokens';
const share = 'share, 0 to 1';
const nats = 'nats per token';
const seconds = 's';
const count = 'count';

export const metricNames = {
  'reward/mean': { unit: reward, meaning: 'Mean reward of the scored trajectories of an iteration' },
  'reward/std': { unit: reward, meaning: 'Their standard deviation (n - 1)' },
  'reward/min': { unit: reward, meaning: 'The smallest of them' },
  'reward/max': { unit: reward, meaning: 'The largest of them' },
  'reward/overlong_penalty': { unit: reward, meaning: 'Mean penalty for overlong responses (0 or less)' },
  'reward/clipped_share': { unit: share, meaning: 'Trajectories whose reward algorithm.rewardClip cuts' },
  'response_length/mean': { unit: tokens, meaning: 'Mean number of sampled tokens of a scored trajectory' },
  'response_length/std': { unit: tokens, meaning: 'Their standard deviation (n - 1)' },
  'response_length/min': { unit: tokens, meaning: 'The fewest of them' },
  'response_length/max': { unit: tokens, meaning: 'The most of them' },
  'groups/count': { unit: count, meaning: 'Groups with at least one scored trajectory' },
  'groups/zero_variance_share': {
    unit: share,
    meaning: 'Groups whose rewards are all equal, among the groups with a scored trajectory',
  },
  'outcomes/truncated_share': { unit: share, meaning: 'Trajectories cut off by a length limit, of all' },
  'outcomes/failed_share': { unit: share, meaning: 'Trajectories that failed by the policy’s fault, of all' },
  'outcomes/infra_failed_share': {
    unit: share,
    meaning: 'Trajectories lost to a fault of the infrastructure, of all; they are not trained on',
  },
  'outcomes/dropped_share': { unit: share, meaning: 'Trajectories left out on purpose, of all' },
  'advantage/mean': { unit: 'advantage', meaning: 'Mean advantage of the training rows' },
  'advantage/std': { unit: 'advantage', meaning: 'Their standard deviation (n - 1)' },
  'advantage/min': { unit: 'advantage', meaning: 'The smallest of them' },
  'advantage/max': { unit: 'advantage', meaning: 'The largest of them' },
  'batch/trajectories': { unit: count, meaning: 'Trajectories of the iteration, whatever their outcome' },
  'batch/rows': { unit: count, meaning: 'Training rows made of them' },
  'batch/trained_tokens': { unit: tokens, meaning: 'Trained tokens of these rows, one epoch' },
  'loss/policy': { unit: 'loss', meaning: 'Loss of an optimizer step, mean over the steps of the update' },
  'policy/entropy': { unit: nats, meaning: 'Mean entropy of the next-token distribution at trained tokens' },
  'policy/ratio': { unit: 'ratio', meaning: 'Probability of a token over its probability when sampled' },
  'policy/clip_fraction_low': {
    unit: share,
    meaning: 'Trained tokens without policy gradient because their ratio is below the lower bound',
  },
  'policy/clip_fraction_high': {
    unit: share,
    meaning: 'Trained tokens without policy gradient because their ratio is above the upper bound',
  },
  'policy/dual_clip_fraction': {
    unit: share,
    meaning: 'Trained tokens with a negative advantage whose loss the dual clip bounds',
  },
  'policy/approx_kl': { unit: nats, meaning: 'Divergence of the policy from the one that sampled (k3)' },
  'policy/reference_kl': {
    unit: nats,
    meaning: 'Divergence of the policy from the reference policy, by the estimator of the recipe',
  },
  'gradient/norm': {
    unit: 'norm',
    meaning: 'Global gradient norm before clipping, mean over the optimizer steps of the update',
  },
  'optimizer/learning_rate': { unit: 'rate', meaning: 'Learning rate, mean over the optimizer steps' },
  'optimizer/steps': { unit: count, meaning: 'Optimizer steps of the update' },
  'update/refused': { unit: count, meaning: '1 if the update was refused for a NaN or infinite number' },
  'warm_start/loss': { unit: nats, meaning: 'Mean training loss of the last window of the warm start' },
  'tokens/trained': { unit: tokens, meaning: 'Trained tokens of the update, all epochs' },
  'tokens/trained_per_second': { unit: 'tokens/s', meaning: 'Trained tokens per second of the update' },
  'tokens/generated': { unit: tokens, meaning: 'Tokens sampled in the iteration' },
  'tokens/generated_per_second': { unit: 'tokens/s', meaning: 'Sampled tokens per second of the rollout' },
  'evaluation/accuracy': {
    unit: share,
    meaning:
      'Held-out tasks that a policy version answers correctly; only versions that are evaluated have it',
  },
  'staleness/mean': {
    unit: 'updates',
    meaning:
      'Updates between the policy that sampled a learned row, its oldest token, and the one that learns from it; their mean',
  },
  'staleness/max': { unit: 'updates', meaning: 'The most of them' },
  'staleness/dropped': { unit: count, meaning: 'Trajectories dropped because they were over-stale' },
  'staleness/corrected': {
    unit: count,
    meaning: 'Over-stale trajectories that were learned from with importance weights',
  },
  'staleness/importance': { unit: 'ratio', meaning: 'Mean importance weight of their tokens, after the cap' },
  'staleness/rolled_back': {
    unit: count,
    meaning: 'Trajectories dropped because a policy had sampled them that was rolled back from',
  },
  'rollout/interrupted': {
    unit: count,
    meaning: 'Trajectories in which a response was begun by one policy version and went on with a newer one',
  },
  'rollout/stragglers_dropped': { unit: count, meaning: 'Trajectories dropped because they were late' },
  'faults/count': {
    unit: count,
    meaning: 'Faults that the run met, of all kinds; `faults/<kind>` counts one',
  },
  'faults/retries': { unit: count, meaning: 'Attempts of activities after the first' },
  'lost/tokens': { unit: tokens, meaning: 'Tokens that were sampled again because a fault took them' },
  'lost/trajectory_seconds': {
    unit: seconds,
    meaning: 'Time that had gone into sampling them, summed over trajectories',
  },
  'lost/update_seconds': { unit: seconds, meaning: 'Time of updates that faults cut off' },
  'recovery/median_seconds': {
    unit: seconds,
    meaning: 'From a fault that cut off sampling to the first new token of what it cut off; their median',
  },
  'recovery/max_seconds': { unit: seconds, meaning: 'The longest of them' },
  'time/rollout_seconds': { unit: seconds, meaning: 'Wall time of the rollout' },
  'time/wait_seconds': {
    unit: seconds,
    meaning: 'Time that a finished rollout waited for its turn to be learned from',
  },
  'time/update_seconds': { unit: seconds, meaning: 'Wall time of the actor update' },
  'time/iteration_seconds': { unit: seconds, meaning: 'Wall time of the iteration' },
} as const satisfies Record<string, MetricMeaning>;

export type MetricName = keyof typeof metricNames;

/** Unit and meaning of a metric, `reward/<source>/mean` included; undefined for a name that is not in the table. */
export function metricMeaning(name: string): MetricMeaning | undefined {
  if (Object.hasOwn(metricNames, name)) return metricNames[name as MetricName];
  const kind = /^faults\/([a-z-]+)$/.exec(name)?.[1];
  if (kind !== undefined && Object.hasOwn(faultKinds, kind)) {
    return { unit: count, meaning: `Faults: ${faultKinds[kind as FaultKind]}` };
  }
  const source = /^reward\/([a-z0-9-]+)\/mean$/.exec(name)?.[1];
  return source === undefined
    ? undefined
    : { unit: reward, meaning: `Mean of the reward ${source}, unweighted` };
}
