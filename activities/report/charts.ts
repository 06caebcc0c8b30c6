/**
 * The curves of a report, each a plain table of numbers that the page draws. A chart appears only if its run has at
 * least one value for it; a value that a version lacks is a gap, never a zero.
 */
import type { MetricName } from '../../core/metric-names.ts';
import type { Evaluation, LogEntry } from '../../core/records.ts';

export interface Chart {
  id: string;
  title: string;
  /** What the curve tells, in a sentence for a reader who does not know the metric. */
  description: string;
  xTitle: string;
  yTitle: string;
  /** Strictly increasing. */
  x: number[];
  lines: { label: string; values: (number | null)[] }[];
}

interface ChartDefinition {
  id: string;
  title: string;
  description: string;
  yTitle: string;
  lines: { label: string; metric: MetricName }[];
}

const reinforcementCharts: ChartDefinition[] = [
  {
    id: 'reward',
    title: 'Reward',
    description: 'Mean reward of the sampled trajectories of an iteration.',
    yTitle: 'mean reward',
    lines: [{ label: 'reward', metric: 'reward/mean' }],
  },
  {
    id: 'loss',
    title: 'Policy loss',
    description:
      'Clipped surrogate loss, mean over the optimizer steps. It need not fall for the policy to improve.',
    yTitle: 'loss',
    lines: [{ label: 'loss', metric: 'loss/policy' }],
  },
  {
    id: 'entropy',
    title: 'Entropy',
    description:
      'Mean entropy of the next-token distribution. A fall to zero means that nothing is explored any more.',
    yTitle: 'nats per token',
    lines: [{ label: 'entropy', metric: 'policy/entropy' }],
  },
  {
    id: 'kl',
    title: 'KL divergence',
    description:
      'How far the update moves the policy from the one that sampled, and from the reference policy.',
    yTitle: 'nats per token',
    lines: [
      { label: 'to sampling policy', metric: 'policy/approx_kl' },
      { label: 'to initial policy', metric: 'policy/reference_kl' },
    ],
  },
  {
    id: 'clip',
    title: 'Clipped tokens',
    description:
      'Share of trained tokens whose probability ratio left the clip range, so that they gave no gradient.',
    yTitle: 'share of tokens',
    lines: [
      { label: 'ratio too low', metric: 'policy/clip_fraction_low' },
      { label: 'ratio too high', metric: 'policy/clip_fraction_high' },
    ],
  },
  {
    id: 'gradient',
    title: 'Gradient norm',
    description: 'Global norm before clipping, mean over the optimizer steps.',
    yTitle: 'norm',
    lines: [{ label: 'gradient norm', metric: 'gradient/norm' }],
  },
  {
    id: 'length',
    title: 'Response length',
    description: 'Mean number of sampled tokens of a trajectory.',
    yTitle: 'tokens',
    lines: [{ label: 'mean length', metric: 'response_length/mean' }],
  },
  {
    id: 'signal',
    title: 'Groups without signal',
    description: 'Share of groups whose samples all have the same reward: their advantage is zero.',
    yTitle: 'share of groups',
    lines: [{ label: 'zero variance', metric: 'groups/zero_variance_share' }],
  },
  {
    id: 'speed',
    title: 'Throughput',
    description: 'Tokens a second while sampling, and while training.',
    yTitle: 'tokens per second',
    lines: [
      { label: 'rollout', metric: 'tokens/generated_per_second' },
      { label: 'training', metric: 'tokens/trained_per_second' },
    ],
  },
];

const warmStartChart: ChartDefinition = {
  id: 'warm-start',
  title: 'Warm start',
  description: 'Cross-entropy on reference answers, mean of the last steps of each durable update.',
  yTitle: 'nats per token',
  lines: [{ label: 'loss', metric: 'warm_start/loss' }],
};

function plot(
  definition: ChartDefinition,
  entries: LogEntry[],
  xTitle: string,
  xOf: (entry: LogEntry) => number,
): Chart[] {
  const lines = definition.lines
    .map(({ label, metric }) => ({ label, values: entries.map((entry) => entry.metrics[metric] ?? null) }))
    .filter((line) => line.values.some((value) => value !== null));
  if (lines.length === 0) return [];
  const { id, title, description, yTitle } = definition;
  return [{ id, title, description, xTitle, yTitle, x: entries.map(xOf), lines }];
}

function accuracyChart(evaluations: Evaluation[]): Chart[] {
  if (evaluations.length === 0) return [];
  const sorted = evaluations.toSorted((a, b) => a.version - b.version);
  return [
    {
      id: 'accuracy',
      title: 'Held-out accuracy',
      description: 'Share of held-out tasks that the policy answers correctly with greedy decoding.',
      xTitle: 'policy version',
      yTitle: 'accuracy',
      x: sorted.map(({ version }) => version),
      lines: [{ label: 'accuracy', values: sorted.map(({ accuracy }) => accuracy) }],
    },
  ];
}

/** The charts of a run, in reading order: how well it learned first, then why. */
export function makeCharts(entries: LogEntry[], evaluations: Evaluation[]): Chart[] {
  const reinforcement = entries.filter(({ kind }) => kind === 'reinforcement');
  const warmStart = entries.filter(({ kind }) => kind === 'warm-start');
  return [
    ...accuracyChart(evaluations),
    ...reinforcementCharts.flatMap((chart) => plot(chart, reinforcement, 'iteration', (e) => e.iteration)),
    ...plot(warmStartChart, warmStart, 'optimizer step', (e) => e.optimizerStep),
  ];
}
