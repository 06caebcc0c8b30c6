/** `npm run bench -- <name> [--json]`: the figures of one benchmark, each measured in this run on this machine. */
import { arch, cpus, platform, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import Table from 'cli-table3';
import { passes, type Bar, type BenchResult } from './bench-result.ts';
import { bars as peerBars, measurePeers } from '../peers/measure-peers.ts';
import { measureEngine } from './engine/measure-engine.ts';
import { bars as engineBars } from './engine/measurements.ts';
import { measureRun } from './measure-run.ts';

interface Options {
  /** Figures to measure; all when empty. */
  only: string[];
}

interface Bench {
  /** The figures that `--only` may name; none when the benchmark is always run as a whole. */
  figures: string[];
  measure: (options: Options) => Promise<BenchResult>;
}

const progress = (line: string): void => console.error(line);

const benches: Record<string, Bench> = {
  engine: {
    figures: Object.keys(engineBars),
    measure: ({ only }) => measureEngine(only, progress),
  },
  peers: {
    figures: Object.keys(peerBars),
    measure: ({ only }) => measurePeers(only, progress),
  },
  orchestration: {
    figures: [],
    measure: async () => {
      const { figures, notes } = await measureRun('quickstart');
      const names = ['overheadShare', 'overheadSeconds', 'wallSeconds'];
      return { figures: Object.fromEntries(names.map((name) => [name, figures[name]!])), notes };
    },
  },
  quickstart: { figures: [], measure: () => measureRun('quickstart') },
  smoke: { figures: [], measure: () => measureRun('smoke') },
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
const only = values.only.flatMap((names) => names.split(','));
const unknown = only.find((figure) => !bench.figures.includes(figure));
if (unknown !== undefined) {
  refuse(
    `--only ${JSON.stringify(unknown)}: ${name} can measure alone: ${bench.figures.join(', ') || 'nothing'}`,
  );
}

const result = await bench.measure({ only });
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
