/**
 * `npm run test:durability [-- --only matrix,others,recovery,random] [--kills K] [--seed S] [--json]`: makes every kind of fault in
 * runs on a real server, and sees that nothing is lost. `--kills` and `--seed` mean random kills alone, unless `--only` says more.
 */
import { parseArgs } from 'node:util';
import { loadRecipe } from '../../activities/recipe/load-recipe.ts';
import { formatTable } from '../../client/terminal/table.ts';
import { costsOf } from './costs.ts';
import { startFaultyStack, tinyRecipe, type FaultyStack } from './faulty-stack.ts';
import { passed, type Outcome } from './outcome.ts';
import { parts, type Part, type PartName, type Plan } from './parts.ts';
import { Progress } from './progress.ts';
import { resultOf, type DurabilityResult, type PartResult } from './result.ts';

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    kills: { type: 'string' },
    seed: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});
const plan: Plan = {
  kills: numberOf('kills', values.kills ?? '50', 1),
  seeds: values.seed === undefined ? [1, 2, 3] : [numberOf('seed', values.seed, 0)],
};
const randomAlone = values.kills !== undefined || values.seed !== undefined;
const names = partsOf(values.only ?? (randomAlone ? 'random' : Object.keys(parts).join(',')));

const results = await runParts(names.map((name) => [name, parts[name](plan)]));
const result = resultOf(results, (await loadRecipe(tinyRecipe)).rollout.maxNewTokens);
process.stdout.write(`${values.json ? JSON.stringify(result) : shown(result)}\n`);
process.exitCode = result.misses.length === 0 ? 0 : 1;

async function runParts(planned: [PartName, Part][]): Promise<PartResult[]> {
  const progress = new Progress(planned.reduce((sum, [, { faults }]) => sum + faults, 0));
  const stack = await startFaultyStack();
  try {
    const results: PartResult[] = [];
    for (const [part, { run, ofDeaths }] of planned) {
      const began = performance.now();
      const outcomes: Outcome[] = [];
      await run(stack, (some) => {
        outcomes.push(...some);
        progress.advance(some.length, some.filter((outcome) => !passed(outcome)).length, some[0]!.run);
      });
      const seconds = (performance.now() - began) / 1000;
      const costs = ofDeaths ? await costsOfRuns(stack, outcomes) : [];
      results.push({ part, outcomes, seconds, costs });
    }
    return results;
  } finally {
    await stack.stop();
  }
}

function costsOfRuns(stack: FaultyStack, outcomes: readonly Outcome[]): Promise<PartResult['costs']> {
  const runs = [...new Set(outcomes.map(({ run }) => run))];
  return Promise.all(runs.map((run) => costsOf(stack, run)));
}

function shown({ parts: ran, misses, ...figures }: DurabilityResult): string {
  const rows = Object.entries(ran).map(([part, { faults, witnesses, passed: good, seconds }]) => [
    ...[part, String(faults), String(witnesses), String(good), `${seconds} s`],
  ]);
  const listed = Object.entries(figures).map(([figure, value]) => [
    figure,
    typeof value === 'object' && value !== null
      ? `median ${shownNumber(value.median)}, max ${shownNumber(value.max)}`
      : typeof value === 'number'
        ? shownNumber(value)
        : String(value),
  ]);
  return [
    formatTable(rows, ['part', 'faults', 'witnessed', 'passed', 'time']),
    formatTable(listed),
    misses.length === 0 ? 'all passed' : `missed:\n${misses.join('\n')}`,
  ].join('\n\n');
}

function shownNumber(value: number | null): string {
  return value === null ? '–' : String(Number(value.toPrecision(4)));
}

function partsOf(list: string): PartName[] {
  return list.split(',').map((name) => {
    if (name in parts) return name as PartName;
    return refuse(`--only ${JSON.stringify(name)}: expected some of ${Object.keys(parts).join(', ')}`);
  });
}

function numberOf(option: string, text: string, least: number): number {
  const number = Number(text);
  if (Number.isInteger(number) && number >= least) return number;
  return refuse(`--${option} ${JSON.stringify(text)}: expected a whole number, at least ${least}`);
}

function refuse(message: string): never {
  process.stderr.write(`test:durability: ${message}\n`);
  process.exit(64);
}
