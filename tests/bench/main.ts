/** `npm run bench -- <name> [--json]`: the figures of one benchmark, each measured in this run on this machine. */
import { arch, cpus, platform, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import Table from 'cli-table3';
import { passes, type Bar, type BenchResult } from './bench-result.ts';
import { figureNames, type FigureName } from './engine/figure.ts';
import { measureEngine } from './engine/measure-engine.ts';
import { measureRun } from './measure-run.ts';

interface Options {
  /** Figures to measure; all when empty. */
  only: string[];
}

interface Bench {
  options: (keyof Options)[];
  measure: (options: Options) => Promise<BenchResult>;
}

const benches: Record<string, Bench> = {
  engine: {
    options: ['only'],
    measure: ({ only }) => {
      const unknown = only.find((name) => !(figureNames as string[]).includes(name));
      if (unknown !== undefined) {
        refuse(`--only ${JSON.stringify(unknown)}: expected figures of ${figureNames.join(', ')}`);
      }
      return measureEngine(only as FigureName[], (line) => console.error(line));
    },
  },
  orchestration: {
    options: [],
    measure: async () => {
      const { figures, notes } = await measureRun('quickstart');
      const names = ['overheadShare', 'overheadSeconds', 'wallSeconds'];
      return { figures: Object.fromEntries(names.map((name) => [name, figures[name]!])), notes };
    },
  },
  quickstart: { options: [], measure: () => measureRun('quickstart') },
  smoke: { options: [], measure: () => measureRun('smoke') },
};

function refuse(message: string): never {
  console.error(`bench: ${message}`);
  process.exit(64);
}

const rounded = (value: number): string => String(Number(value.toPrecision(4)));

/** A table of figures; below it a line each on how it was measured. */
function table({ figures, bars = {}, details = {} }: BenchResult): string {
  const measured = Object.keys(details).length > 0;
  const head = measured ? ['figure', 'value', 'lowest', 'highest', 'bar', ''] : ['figure', 'value'];
  const rows = new Table({ head, style: { head: [], border: [] } });
  for (const [figure, value] of Object.entries(figures)) {
    const [bar, detail] = [bars[figure], details[figure]];
    const range = measured
      ? [detail?.lowest, detail?.highest].map((end) => (end === undefined ? '' : rounded(end)))
      : [];
    rows.push([figure, rounded(value), ...range, ...(bar ? shownBar(value, bar) : [])]);
  }
  const lines = Object.entries(details).map(([figure, { against, statistic, quantities }]) => {
    const listed = Object.entries(quantities).map(([name, value]) => `, ${name} ${rounded(value)}`);
    return `${figure}: ${against}; ${statistic}${listed.join('')}`;
  });
  return [rows.toString(), ...lines].join('\n');
}

function shownBar(value: number, bar: Bar): [bar: string, verdict: string] {
  const shown = 'atLeast' in bar ? `≥ ${bar.atLeast}` : `≤ ${bar.atMost}`;
  return [shown, passes(value, bar) ? 'pass' : 'miss'];
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true, default: [] },
  },
});
const name = positionals[0] ?? '';
const bench = benches[name];
if (!bench) refuse(`${JSON.stringify(name)}: expected one of ${Object.keys(benches).join(', ')}`);
if (values.only.length > 0 && !bench.options.includes('only')) refuse(`${name} takes no --only`);

const result = await bench.measure({ only: values.only.flatMap((names) => names.split(',')) });
const machine = {
  cpu: cpus()[0]?.model ?? 'unknown',
  cores: cpus().length,
  memoryBytes: totalmem(),
  platform: `${platform()} ${arch()}`,
  node: process.version,
};
if (values.json) {
  console.log(JSON.stringify({ bench: name, machine, ...result }));
} else {
  const notes = result.notes.join('\n');
  console.log(`${name} on ${machine.cores} × ${machine.cpu}\n${table(result)}\n${notes}`);
}
