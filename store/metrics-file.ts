/**
 * `metrics/metrics.jsonl` of a run folder: one line for each policy version up to the head of the log, each followed by its
 * evaluation, and at the run's end one about its faults. It is brought to what the store says whatever it holds: lines that are there stay as they are, missing ones
 * are added, torn and repeated ones go. Usually that is an append; otherwise the file is replaced as a whole.
 */
import { appendFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { RekindleError } from '../core/errors.ts';
import { faultMetrics, type FaultTotals } from '../core/fault-totals.ts';
import {
  evaluationSchema,
  logEntrySchema,
  metricsSchema,
  type Evaluation,
  type LogEntry,
} from '../core/records.ts';
import { replaceFile } from './atomic-file.ts';
import type { RunFolder } from './run-folder.ts';
import { evaluatedVersions } from './run-history.ts';
import type { Store } from './store.ts';

const versionFields = {
  version: true,
  kind: true,
  iteration: true,
  update: true,
  outcomes: true,
  metrics: true,
} as const;
const evaluationFields = { version: true, tasks: true, accuracy: true, meanLength: true } as const;

export const metricsLineSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('version'), ...logEntrySchema.pick(versionFields).shape }),
  z.strictObject({ type: z.literal('evaluation'), ...evaluationSchema.pick(evaluationFields).shape }),
  z.strictObject({ type: z.literal('faults'), metrics: metricsSchema }),
]);
export type MetricsLine = z.infer<typeof metricsLineSchema>;

/** Brings the file up to the head of the log, and with `faults` to its end; returns how many lines it added. Throws StoreError. */
export async function publishMetrics(
  store: Store,
  run: string,
  folder: RunFolder,
  faults?: FaultTotals,
): Promise<number> {
  const path = metricsPath(folder);
  const present = await readText(path);
  const lines = linesByIdentity(present);

  const head = await store.head(run);
  const evaluated = new Map((await evaluatedVersions(store, run)).map(({ version, key }) => [version, key]));
  const wanted: string[] = [];
  let added = 0;
  for (let version = 0; head !== undefined && version <= head.version; version++) {
    await want('version', version, async () => {
      const entry = await store.entry(run, version);
      return entry && versionLine(entry);
    });
    const key = evaluated.get(version);
    if (key === undefined) continue;
    await want('evaluation', version, async () => {
      const recorded = await store.findResult(run, key);
      return recorded && evaluationLine(evaluationSchema.parse(recorded.value));
    });
  }
  if (faults !== undefined) {
    const line = JSON.stringify({ type: 'faults', metrics: faultMetrics(faults) } satisfies MetricsLine);
    if (line !== lines.get(identity({ type: 'faults' }))) added += 1;
    wanted.push(line);
  }
  const text = wanted.map((line) => `${line}\n`).join('');
  if (text !== present) await bringTo(path, present, text);
  return added;

  async function want(
    type: MetricsLine['type'],
    version: number,
    make: () => Promise<MetricsLine | undefined>,
  ): Promise<void> {
    let line = lines.get(identity({ type, version }));
    if (line === undefined) {
      const made = await make();
      if (made === undefined) return;
      line = JSON.stringify(made);
      added += 1;
    }
    wanted.push(line);
  }
}

/** The lines of a run's metrics file, none when there is no file yet; torn lines are left out. */
export async function readMetrics(folder: RunFolder): Promise<MetricsLine[]> {
  const lines = linesByIdentity(await readText(metricsPath(folder)));
  return [...lines.values()].map((line) => metricsLineSchema.parse(JSON.parse(line)));
}

function metricsPath(folder: RunFolder): string {
  return join(folder.metrics, 'metrics.jsonl');
}

function versionLine(entry: LogEntry): MetricsLine {
  const { version, kind, iteration, update, outcomes, metrics } = entry;
  return { type: 'version', version, kind, iteration, update, outcomes, metrics };
}

function evaluationLine({ version, tasks, accuracy, meanLength }: Evaluation): MetricsLine {
  return { type: 'evaluation', version, tasks, accuracy, meanLength };
}

function identity(line: { type: MetricsLine['type']; version?: number }): string {
  return `${line.type} ${line.version ?? ''}`;
}

/** Good lines by what they tell of; the first of several stands. */
function linesByIdentity(text: string): Map<string, string> {
  const lines = new Map<string, string>();
  for (const line of text.split('\n')) {
    const parsed = metricsLineSchema.safeParse(parseOrUndefined(line));
    if (parsed.success && !lines.has(identity(parsed.data))) lines.set(identity(parsed.data), line);
  }
  return lines;
}

function parseOrUndefined(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

async function readText(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw new RekindleError('StoreError', `cannot read ${path}: ${String(error)}`, { cause: error });
  });
}

async function bringTo(path: string, present: string, text: string): Promise<void> {
  if (present === '' || !text.startsWith(present)) return replaceFile(path, text);
  await appendFile(path, text.slice(present.length)).catch((error: unknown) => {
    throw new RekindleError('StoreError', `cannot write ${path}: ${String(error)}`, {
      hint: 'Check that the run folder can be written and that its disk has space.',
      cause: error,
    });
  });
}
