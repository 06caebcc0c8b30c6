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

function table({ figures, bars = {}, details = {} }: BenchResult): string {
  const rounded = (value: number) => String(Number(value.toPrecision(4)));
  const rows = new Table({ head: ['figure', 'value', 'lowest', 'highest', 'bar', '', 'measured against'] });
  const shownBar = (bar: Bar) => ('atLeast' in bar ? `≥ ${bar.atLeast}` : `≤ ${bar.atMost}`);
  for (const [figure, value] of Object.entries(figures)) {
    const [bar, detail] = [bars[figure], details[figure]];
    rows.push([
      figure,
      rounded(value),
      detail ? rounded(detail.lowest) : '',
      detail ? rounded(detail.highest) : '',
      bar ? shownBar(bar) : '',
      bar ? (passes(value, bar) ? 'pass' : 'MISS') : '',
      detail ? `${detail.against} (${detail.statistic})` : '',
    ]);
  }
  const quantities = Object.entries(details).map(([figure, { quantities }]) => {
    const listed = Object.entries(quantities).map(([name, value]) => `${name} ${rounded(value)}`);
    return `${figure}: ${listed.join(', ')}`;
  });
  return [rows.toString(), ...quantities].join('\n');
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
