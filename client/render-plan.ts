/** A plan as text: the arithmetic first, then what it costs, what is missing, and the recipe it was made from. */
import { stringify } from 'yaml';
import { formatCount, formatNumber, formatSeconds } from '../activities/report/format.ts';
import type { Plan } from '../core/plan-schema.ts';
import type { CheckedRecipe } from './check-recipe.ts';
import type { Colors } from './terminal/output.ts';
import { formatTable } from './terminal/table.ts';

export function renderPlan(
  { recipe, plan }: CheckedRecipe,
  { bold, dim, green, red, yellow }: Colors,
): string {
  const sections: [string, string[][]][] = [
    ['Each iteration', iterationRows(plan)],
    ['The run', runRows(plan)],
    ['Cost', costRows(plan)],
    ['Queues', plan.queues.map(({ queue, work }) => [`  ${queue}`, work])],
  ];
  const verdict = plan.ready
    ? green('✓ ready to run')
    : plan.missing.map((reason) => red(`✗ ${reason}`)).join('\n');
  return [
    bold(plan.recipe),
    ...sections
      .filter(([, rows]) => rows.length > 0)
      .map(([title, rows]) => `\n${bold(title)}\n${formatTable(rows)}`),
    `\n${bold('Recipe, with every default')}`,
    dim(stringify(recipe).trimEnd()),
    '',
    ...plan.notes.map((note) => yellow(`· ${note}`)),
    verdict,
  ].join('\n');
}

function iterationRows({ iteration }: Plan): string[][] {
  const { tasks, groupSize, episodes, shards, generatedTokens, optimizerSteps, minibatches } = iteration;
  return [
    ['  episodes', `${tasks} tasks × ${groupSize} samples = ${formatCount(episodes)}, in ${shards} shards`],
    ['  generated tokens', `at most ${formatCount(generatedTokens)}`],
    [
      '  optimizer steps',
      `${optimizerSteps.min} to ${optimizerSteps.max} (${minibatches} minibatches a pass)`,
    ],
  ];
}

function runRows({ run, model }: Plan): string[][] {
  const rows = [
    ['  iterations', String(run.iterations)],
    ['  episodes', formatCount(run.episodes)],
    ['  policy versions', `at most ${run.policyVersions}`],
    ['  evaluations', `${run.evaluations}, ${formatCount(run.evaluationEpisodes)} episodes in all`],
  ];
  if (run.warmStartSteps > 0) rows.push(['  warm start', `at most ${run.warmStartSteps} steps`]);
  if (run.epochs !== null) rows.push(['  epochs', formatNumber(run.epochs)]);
  if (model !== null) rows.push(['  parameters', formatCount(model.parameters)]);
  return rows;
}

function costRows({ memory, disk, time }: Plan): string[][] {
  const rows: string[][] = [];
  if (memory)
    rows.push(['  memory', `engine ${formatBytes(memory.total)} of ${formatBytes(memory.available)}`]);
  if (disk)
    rows.push(['  disk', `${formatBytes(disk.total)} in all, ${formatBytes(disk.perVersion)} a version`]);
  if (time) {
    rows.push([
      '  time',
      `likely ${formatSeconds(time.likely.total)}, at most ${formatSeconds(time.atMost.total)}`,
    ]);
    rows.push(['', `assuming ${time.assumptions.join('; ')}`]);
  }
  return rows;
}

/** In powers of 1024. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10));
  return `${formatNumber(bytes / 1024 ** power)} ${units[power]}`;
}
