/** `npm run bench -- <name> [--json]`: one JSON object with the figures, each measured in this run on this machine. */
import { arch, cpus, platform, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import Table from 'cli-table3';
import type { BenchResult } from './bench-result.ts';
import { measureRun } from './measure-run.ts';

const benches: Record<string, () => Promise<BenchResult>> = {
  orchestration: async () => {
    const { figures, notes } = await measureRun('quickstart');
    const names = ['overheadShare', 'overheadSeconds', 'wallSeconds'];
    return { figures: Object.fromEntries(names.map((name) => [name, figures[name]!])), notes };
  },
  quickstart: () => measureRun('quickstart'),
  smoke: () => measureRun('smoke'),
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'boolean', default: false } },
});
const name = positionals[0] ?? '';
const bench = benches[name];
if (bench === undefined) {
  console.error(`bench: ${JSON.stringify(name)}: expected one of ${Object.keys(benches).join(', ')}`);
  process.exit(64);
}
const { figures, notes } = await bench();
const machine = {
  cpu: cpus()[0]?.model ?? 'unknown',
  cores: cpus().length,
  memoryBytes: totalmem(),
  platform: `${platform()} ${arch()}`,
  node: process.version,
};
if (values.json) {
  console.log(JSON.stringify({ bench: name, machine, figures, notes }));
} else {
  const table = new Table({ head: ['figure', 'value'] });
  for (const [figure, value] of Object.entries(figures)) table.push([figure, Number(value.toPrecision(4))]);
  console.log(`${name} on ${machine.cores} × ${machine.cpu}\n${table.toString()}\n${notes.join('\n')}`);
}
