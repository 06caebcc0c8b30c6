import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { DataSet, Split } from '../../core/data/data-set.ts';
import { RekindleError } from '../../core/errors.ts';
import { openDataSet } from './open-data-set.ts';

const rows = Array.from({ length: 300 }, (_, i) => ({
  question: `A café sells ${i} cups a day. How many in ${i % 7} days?`,
  answer: `${i} * ${i % 7} = <<${i}*${i % 7}=${i * (i % 7)}>>${i * (i % 7)}\n#### ${i * (i % 7)}`,
}));
const jsonLines = rows.map((row) => JSON.stringify(row)).join('\n');

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rekindle-data-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function write(name: string, content: string | Uint8Array): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
}

function open(path: string, split: Split = 'train', seed = 1): Promise<DataSet> {
  return openDataSet({ train: { source: 'gsm8k', path } }, split, seed);
}

function openWhole(path: string): Promise<DataSet> {
  const evaluation = { source: 'addition', digits: 3 } as const;
  return openDataSet({ train: { source: 'gsm8k', path }, evaluation }, 'train', 1);
}

function firstTasks(data: DataSet, count = data.size!) {
  return Array.from({ length: count }, (_, cursor) => data.taskAt(cursor));
}

async function refusal(opening: Promise<DataSet>): Promise<string> {
  const error: unknown = await opening.catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(RekindleError);
  expect((error as RekindleError).kind).toBe('DataError');
  return (error as RekindleError).message;
}

function parquet(columns: Record<string, string[]>, rowGroupSize = 64): Uint8Array {
  const columnData = Object.entries(columns).map(([name, data]) => ({ name, data, type: 'STRING' as const }));
  return new Uint8Array(parquetWriteBuffer({ columnData, rowGroupSize }));
}

describe('the formats', () => {
  test('JSON lines, gzipped JSON lines and Parquet give the same tasks', async () => {
    const plain = firstTasks(await openWhole(await write('rows.jsonl', jsonLines)));
    const gzipped = firstTasks(await openWhole(await write('rows.jsonl.gz', gzipSync(jsonLines))));
    const columns = { answer: rows.map((row) => row.answer), question: rows.map((row) => row.question) };
    const columnar = firstTasks(await openWhole(await write('rows.parquet', parquet(columns))));
    expect(gzipped).toEqual(plain);
    expect(columnar).toEqual(plain);
    expect(plain).toHaveLength(300);
    expect(new Set(plain.map((task) => task.prompt))).toEqual(new Set(rows.map((row) => row.question)));
    for (const { prompt, answer } of plain) {
      expect(rows.find((row) => row.question === prompt)!.answer.endsWith(`#### ${answer}`)).toBe(true);
    }
  });

  test('Windows line ends, blank lines and a missing last newline make no difference', async () => {
    const loose = `\r\n${rows.map((row) => JSON.stringify(row)).join('\r\n\r\n')}`;
    const tasks = firstTasks(await openWhole(await write('loose.jsonl', loose)));
    expect(tasks).toEqual(firstTasks(await openWhole(await write('tight.jsonl', `${jsonLines}\n`))));
  });

  test('lines longer than a read chunk are whole', async () => {
    const long = { question: 'long '.repeat(600_000), answer: '#### 1' };
    const path = await write('long.jsonl', `${JSON.stringify(long)}\n${JSON.stringify(rows[0])}\n`);
    const prompts = firstTasks(await openWhole(path)).map((task) => task.prompt.length);
    expect(prompts.sort((a, b) => b - a)).toEqual([long.question.trim().length, rows[0]!.question.length]);
  });
});

describe('training and held-out rows', () => {
  test('share no row, and together are the file', async () => {
    const path = await write('split.jsonl', jsonLines);
    const training = firstTasks(await open(path, 'train')).map((task) => task.prompt);
    const heldOut = firstTasks(await open(path, 'evaluation')).map((task) => task.prompt);
    expect(heldOut.length).toBeGreaterThan(10);
    expect([...training, ...heldOut].sort()).toEqual(rows.map((row) => row.question).sort());
  });

  test('warm-start examples are training rows with their solution', async () => {
    const path = await write('split.jsonl', jsonLines);
    const heldOut = new Set(firstTasks(await open(path, 'evaluation')).map((task) => task.prompt));
    const data = await open(path);
    for (let step = 0; step < 100; step++) {
      const { prompt, response } = data.exampleAt(step, step % 5);
      expect(heldOut.has(prompt)).toBe(false);
      expect(response).toMatch(/^\d+ \* \d+ = \d+\n#### \d+$/);
    }
  });

  test('each epoch has every row once, in its own order, with ids of its own', async () => {
    const data = await open(await write('epochs.jsonl', jsonLines));
    const size = data.size!;
    const tasks = firstTasks(data, 2 * size);
    expect(new Set(tasks.map((task) => task.id)).size).toBe(2 * size);
    const [first, second] = [tasks.slice(0, size), tasks.slice(size)].map((epoch) =>
      epoch.map((task) => task.prompt),
    );
    expect(new Set(first).size).toBe(size);
    expect(second).not.toEqual(first);
    expect([...second!].sort()).toEqual([...first!].sort());
  });

  test('the evaluation set ignores the seed and ends; training follows the seed', async () => {
    const path = await write('seeds.jsonl', jsonLines);
    const data = await open(path, 'evaluation', 1);
    expect(firstTasks(await open(path, 'evaluation', 2))).toEqual(firstTasks(data));
    expect(() => data.taskAt(data.size!)).toThrow(`the evaluation set has ${data.size} rows`);
    expect(firstTasks(await open(path, 'train', 2))).not.toEqual(firstTasks(await open(path, 'train', 1)));
  });

  test('a file that changed is read again', async () => {
    const path = await write('changing.jsonl', jsonLines);
    await openWhole(path);
    await write('changing.jsonl', JSON.stringify(rows[0]));
    expect((await openWhole(path)).size).toBe(1);
  });
});

describe('refused, with file and place', () => {
  const good = JSON.stringify(rows[0]);

  test('a line that is not JSON', async () => {
    const path = await write('broken.jsonl', `${good}\n${good}\n{"question": "cut o\n`);
    expect(await refusal(open(path))).toMatch(`${path}:3: not JSON`);
  });

  test('a line of the wrong shape', async () => {
    const path = await write('shape.jsonl', `${good}\n[1]\n`);
    expect(await refusal(open(path))).toBe(`${path}:2: expected an object with question and answer: [1]`);
  });

  test('an answer without its final line', async () => {
    const path = await write('final.jsonl', `${good}\n{"question": "q", "answer": "just 7"}\n`);
    expect(await refusal(open(path))).toBe(`${path}:2: answer: expected a last line "#### <number>": just 7`);
  });

  test('a missing column, with the columns found', async () => {
    const path = await write('columns.jsonl', '{"problem": "p", "answer": "#### 1"}\n');
    expect(await refusal(open(path))).toBe(
      `${path}:1: no column "question"; the columns are problem, answer`,
    );
    const columnar = await write('columns.parquet', parquet({ problem: ['p'], answer: ['#### 1'] }));
    expect(await refusal(open(columnar))).toBe(
      `${columnar}: no column "question"; the columns are problem, answer`,
    );
  });

  test('a broken row of a Parquet file', async () => {
    const path = await write('row.parquet', parquet({ question: ['q', 'q'], answer: ['#### 1', 'one'] }));
    expect(await refusal(open(path))).toContain(`${path}: row 2: answer`);
  });

  test('text that is not UTF-8', async () => {
    const path = await write(
      'latin.jsonl',
      Buffer.from('{"question": "caf\xe9", "answer": "#### 1"}', 'latin1'),
    );
    expect(await refusal(open(path))).toBe(`${path}:1: not UTF-8 text`);
  });

  test('a gzip file that is cut off, or none at all', async () => {
    const cut = await write('cut.jsonl.gz', gzipSync(jsonLines));
    await truncate(cut, 500);
    expect(await refusal(open(cut))).toContain(`${cut} can't be unpacked`);
    const plain = await write('plain.jsonl.gz', jsonLines);
    expect(await refusal(open(plain))).toContain(`${plain} can't be unpacked`);
  });

  test('a file that is not Parquet', async () => {
    const path = await write('text.parquet', jsonLines);
    expect(await refusal(open(path))).toContain(`${path} can't be read as Parquet`);
  });

  test('an empty file, a missing file, a folder', async () => {
    const path = await write('empty.jsonl', '\n\n');
    expect(await refusal(open(path))).toBe(`data file ${path} holds no rows`);
    const absent = join(folder, 'absent.jsonl');
    expect(await refusal(open(absent))).toBe(`data file ${absent} does not exist`);
    expect(await refusal(open(folder))).toBe(`data file ${folder} is a folder`);
  });
});
