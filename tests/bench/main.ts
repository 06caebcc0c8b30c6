/** `npm run bench -- <name> [--json]`: the figures of one benchmark, each measured in this run on this machine. */
import { arch, cpus, platform, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import { bars as peerBars, measurePeers } from '../peers/measure-peers.ts';
import { measureSoak } from '../soak/measure-soak.ts';
import type { BenchResult } from './bench-result.ts';
import { measureEngine } from './engine/measure-engine.ts';
import { bars as engineBars } from './engine/measurements.ts';
import { figureTable } from './figure-table.ts';
import { measureRun } from './measure-run.ts';
import { measureOrchestration, orchestrationFigures } from './orchestration/measure-orchestration.ts';

interface Options {
  /** Figures to measure; all when empty. */
  only: string[];
  minutes: number;
}

interface Bench {
  /** The figures that `--only` may name; absent when the benchmark is always run as a whole. */
  figures?: string[];
  /** How long it takes, when `--minutes` does not say; absent when that is not for the caller to say. */
  minutes?: number;
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
    figures: orchestrationFigures,
    measure: ({ only }) => measureOrchestration(only, progress),
  },
  quickstart: { measure: () => measureRun('quickstart') },
  soak: {
    minutes: 60,
    measure: ({ minutes }) => measureSoak(minutes, progress),
  },
  smoke: { measure: () => measureRun('smoke') },
};

function refuse(message: string): never {
  console.error(`bench: ${message}`);
  process.exit(64);
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true, default: [] },
    minutes: { type: 'string' },
  },
});
const name = positionals[0] ?? '';
const bench = benches[name];
if (!bench) refuse(`${JSON.stringify(name)}: expected one of ${Object.keys(benches).join(', ')}`);
const only = values.only.flatMap((names) => names.split(','));
const unknown = only.find((figure) => !bench.figures?.includes(figure));
if (unknown !== undefined) {
  const known = bench.figures?.join(', ') ?? 'nothing';
  refuse(`--only ${JSON.stringify(unknown)}: ${name} can measure alone: ${known}`);
}
if (values.minutes !== undefined && bench.minutes === undefined) refuse(`${name} takes no --minutes`);
const minutes = Number(values.minutes ?? bench.minutes ?? 0);
if (!(minutes >= 0 && minutes < Infinity)) {
  refuse(`--minutes ${JSON.stringify(values.minutes)}: expected a number of minutes`);
}

const result = await bench.measure({ only, minutes });
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
  console.log(`${name} on ${machine.cores} × ${machine.cpu}\n${figureTable(result)}\n${notes}`);
}
if (result.failure !== undefined) {
  console.error(`bench: ${result.failure}`);
  process.exitCode = 1;
}
