/**
 * A GSM8K-format file as rows by number: JSON lines, gzipped JSON lines or Parquet, told by the name's ending.
 *
 * Opening reads the whole file once, as a stream, and checks every row; afterwards memory holds an index, not the rows.
 * Rows are read at their offset from the file itself, or from an unpacked copy that vanishes with the process.
 */
import { randomUUID } from 'node:crypto';
import { closeSync, openSync, readSync, unlinkSync, writeSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RekindleError } from '../../core/errors.ts';
import { gsm8kColumns, gsm8kRowSchema, isHeldOutQuestion, type Gsm8kRow } from '../../core/data/gsm8k.ts';
import { readLines } from './read-lines.ts';
import { readParquet } from './read-parquet.ts';

export interface Gsm8kRows {
  readonly size: number;
  row(index: number): Gsm8kRow;
  /** Row numbers outside and inside the held-out tenth. */
  readonly training: Uint32Array;
  readonly heldOut: Uint32Array;
}

const opened = new Map<string, { stamp: string; rows: Promise<Gsm8kRows> }>();

/**
 * Opens a file, once a process while it stays the same. Throws DataError: missing, empty, a broken row (file and line
 * named), a missing column (the columns found are named).
 */
export async function openGsm8kRows(path: string): Promise<Gsm8kRows> {
  const stamp = await fileStamp(path);
  const known = opened.get(path);
  if (known?.stamp === stamp) return known.rows;
  const rows = indexRows(path);
  opened.set(path, { stamp, rows });
  rows.catch(() => opened.delete(path));
  return rows;
}

async function fileStamp(path: string): Promise<string> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => error.code ?? error.message);
  if (typeof found === 'object' && found.isFile()) return `${found.ino} ${found.size} ${found.mtimeMs}`;

  let state = 'is a folder';
  if (typeof found === 'string') state = found === 'ENOENT' ? 'does not exist' : `can't be read (${found})`;
  throw new RekindleError('DataError', `data file ${path} ${state}`, {
    hint: 'Paths in a recipe are relative to the recipe file.',
  });
}

async function indexRows(path: string): Promise<Gsm8kRows> {
  const index = new RowIndex();
  let fd: number;
  if (path.endsWith('.parquet')) {
    fd = openUnlinked();
    for await (const value of readParquet(path, gsm8kColumns)) {
      const row = checkRow(value, `${path}: row ${index.size + 1}`);
      index.append(row, fd, JSON.stringify(row));
    }
  } else {
    const gzipped = path.endsWith('.gz');
    fd = gzipped ? openUnlinked() : openSync(path, 'r');
    for await (const { number, offset, bytes } of readLines(path, gzipped)) {
      const where = `${path}:${number}`;
      const text = decode(bytes, where);
      if (text.trim() === '') continue;
      const row = checkRow(parseJson(text, where), where);
      if (gzipped) index.append(row, fd, text);
      else index.add(row, offset, bytes.length);
    }
  }
  if (index.size === 0) {
    closeSync(fd);
    throw new RekindleError('DataError', `data file ${path} holds no rows`, {
      hint: `Expected rows with the columns ${gsm8kColumns.join(' and ')}.`,
    });
  }
  return {
    size: index.size,
    training: Uint32Array.from(index.training),
    heldOut: Uint32Array.from(index.heldOut),
    row(number) {
      const bytes = Buffer.alloc(index.lengths[number]!);
      readSync(fd, bytes, 0, bytes.length, index.offsets[number]!);
      const where = `${path}: row ${number + 1}`;
      return checkRow(parseJson(decode(bytes, where), where), where);
    },
  };
}

class RowIndex {
  readonly offsets: number[] = [];
  readonly lengths: number[] = [];
  readonly training: number[] = [];
  readonly heldOut: number[] = [];

  get size(): number {
    return this.offsets.length;
  }

  add(row: Gsm8kRow, offset: number, length: number): void {
    (isHeldOutQuestion(row.question) ? this.heldOut : this.training).push(this.size);
    this.offsets.push(offset);
    this.lengths.push(length);
  }

  /** Writes a row's text behind the last one's and adds it. */
  append(row: Gsm8kRow, fd: number, text: string): void {
    const last = this.size - 1;
    const offset = last < 0 ? 0 : this.offsets[last]! + this.lengths[last]!;
    this.add(row, offset, writeSync(fd, text, offset));
  }
}

/** An open file without a name: the system frees it when the process ends. */
function openUnlinked(): number {
  const path = join(tmpdir(), `rekindle-rows-${randomUUID()}`);
  const fd = openSync(path, 'wx+', 0o600);
  unlinkSync(path);
  return fd;
}

function decode(bytes: Buffer, where: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new RekindleError('DataError', `${where}: not UTF-8 text`, { cause: error });
  }
}

function parseJson(text: string, where: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new RekindleError('DataError', `${where}: not JSON (${reason}): ${excerpt(text)}`, {
      hint: 'Expected one JSON object a line, with question and answer.',
      cause: error,
    });
  }
}

function checkRow(value: unknown, where: string): Gsm8kRow {
  const parsed = gsm8kRowSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new RekindleError(
      'DataError',
      `${where}: expected an object with question and answer: ${excerpt(value)}`,
    );
  }
  const missing = gsm8kColumns.filter((column) => !(column in value));
  const found = Object.keys(value).join(', ') || 'none';
  const issue = parsed.error.issues[0]!;
  const column = String(issue.path[0]);
  throw new RekindleError(
    'DataError',
    missing.length > 0
      ? `${where}: no column ${missing.map((name) => `"${name}"`).join(' or ')}; the columns are ${found}`
      : `${where}: ${column}: ${issue.message}: ${excerpt((value as Record<string, unknown>)[column])}`,
    { hint: 'Expected the columns question and answer, the answer ending "#### <number>".' },
  );
}

function excerpt(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'undefined');
  return text.length > 80 ? `${text.slice(0, 77)}…` : text;
}
