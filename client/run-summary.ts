/** What a finished run came to, for the last screen of `train` and for `status`. */
import { access } from 'node:fs/promises';
import path from 'node:path';
import { formatAccuracy, formatSeconds } from '../activities/report/format.ts';
import type { RunState } from '../core/contracts.ts';
import type { RunStatus } from '../core/records.ts';
import { readMeta, runFolder } from '../store/run-folder.ts';
import { commandLine } from './terminal/command-line.ts';
import type { Colors } from './terminal/output.ts';
import { formatTable } from './terminal/table.ts';

export interface Summary {
  run: string;
  recipe: string;
  status: RunStatus;
  policyVersion: number;
  evaluation: { before: number | null; after: number | null };
  wallSeconds: number | null;
  /** Paths on this machine; null when the run's folder is elsewhere. */
  folder: string | null;
  report: string | null;
  webUi: string | null;
}

/** Joins the run's last state with its folder, when that lies in this home. */
export async function summarizeRun(home: string, state: RunState, webUi: string | null): Promise<Summary> {
  const folder = runFolder(path.join(home, 'runs'), 'training', state.run);
  const meta = await readMeta(folder);
  return {
    run: state.run,
    recipe: state.recipe,
    status: state.status === 'completed' || state.status === 'stopped' ? state.status : 'running',
    policyVersion: state.policyVersion,
    evaluation: { before: state.evaluation.before, after: state.evaluation.latest },
    wallSeconds: meta?.wallSeconds ?? null,
    folder: meta ? folder.root : null,
    report: (await exists(folder.report)) ? folder.report : null,
    webUi,
  };
}

export function renderSummary(summary: Summary, { bold, green, yellow }: Colors): string {
  const { before, after } = summary.evaluation;
  const rows: [string, string | null][] = [
    [
      'held-out accuracy',
      before === null ? null : `${formatAccuracy(before)} → ${bold(formatAccuracy(after))}`,
    ],
    ['policy version', String(summary.policyVersion)],
    ['wall time', summary.wallSeconds === null ? null : formatSeconds(summary.wallSeconds)],
    ['report', summary.report],
    ['Web UI', summary.webUi],
    ['talk to it', commandLine(`chat ${summary.run}`)],
    ['export it', commandLine(`export ${summary.run}`)],
  ];
  const shown = rows.flatMap(([name, value]) => (value === null ? [] : [[`  ${name}`, value]]));
  const colour = summary.status === 'completed' ? green : yellow;
  return `\n${bold(summary.run)} ${colour(summary.status)}\n${formatTable(shown)}`;
}

async function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}
