/**
 * Histories of workflows as files: Temporal's own message `History`, encoded and compressed, without what tells of the machine that
 * recorded it. (As JSON the SDK cannot read them back where npm has installed protobufjs more than once.)
 */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import proto, { type temporal } from '@temporalio/proto';

export const historiesFolder = fileURLToPath(new URL('recorded/', import.meta.url));

const { History } = proto.temporal.api.history.v1;
export type WorkflowHistory = temporal.api.history.v1.IHistory;

export interface RecordedHistory {
  /** `<workflow type>-<scene>`, with a number where there are several. */
  name: string;
  history: WorkflowHistory;
}

const extension = '.history.gz';

/** Returns the size of the file. */
export async function writeHistory(name: string, history: WorkflowHistory): Promise<number> {
  const own = History.fromObject(history);
  forgetMachine(own);
  const bytes = gzipSync(History.encode(own).finish(), { level: 9 });
  await mkdir(historiesFolder, { recursive: true });
  await writeFile(join(historiesFolder, `${name}${extension}`), bytes);
  return bytes.length;
}

/** Sorted by name. */
export async function readHistories(): Promise<RecordedHistory[]> {
  const files = (await readdir(historiesFolder)).filter((file) => file.endsWith(extension)).sort();
  return Promise.all(
    files.map(async (file) => ({
      name: file.slice(0, -extension.length),
      history: History.decode(gunzipSync(await readFile(join(historiesFolder, file)))),
    })),
  );
}

/** Fields that replay does not read, and that name processes and files of the machine. */
const ofTheMachine = new Set(['identity', 'stackTrace']);

function forgetMachine(message: object): void {
  for (const [field, value] of Object.entries(message) as [string, unknown][]) {
    if (ofTheMachine.has(field) && typeof value === 'string') Object.assign(message, { [field]: '' });
    else if (typeof value === 'object' && value !== null && !ArrayBuffer.isView(value)) forgetMachine(value);
  }
}
