/** Lines of a text file, plain or gzipped, one at a time: memory holds a line and a chunk, whatever the size of the file. */
import { createReadStream } from 'node:fs';
import { createGunzip } from 'node:zlib';
import { RekindleError } from '../../core/errors.ts';

export interface Line {
  /** Counted from 1. */
  number: number;
  /** Position of the first byte in the unpacked text. */
  offset: number;
  bytes: Buffer;
}

const newline = 0x0a;
const longestLine = 64 * 2 ** 20;

/** Yields every line without its newline. Throws DataError if a line is absurdly long or the gzip data is broken. */
export async function* readLines(path: string, gzipped: boolean): AsyncGenerator<Line> {
  let rest: Buffer = Buffer.alloc(0);
  let number = 1;
  let offset = 0;
  for await (const chunk of chunks(path, gzipped)) {
    const text = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let start = 0;
    for (let end = text.indexOf(newline); end >= 0; end = text.indexOf(newline, start)) {
      yield { number: number++, offset: offset + start, bytes: text.subarray(start, end) };
      start = end + 1;
    }
    rest = text.subarray(start);
    offset += start;
    if (rest.length > longestLine) {
      throw new RekindleError('DataError', `${path}:${number}: a line of more than ${longestLine} bytes`, {
        hint: 'Expected JSON lines: one row a line.',
      });
    }
  }
  if (rest.length > 0) yield { number, offset, bytes: rest };
}

async function* chunks(path: string, gzipped: boolean): AsyncGenerator<Buffer> {
  const file = createReadStream(path, { highWaterMark: 2 ** 20 });
  if (!gzipped) {
    yield* file as AsyncIterable<Buffer>;
    return;
  }
  const unpacked = createGunzip();
  file.on('error', (error) => unpacked.destroy(error));
  try {
    yield* file.pipe(unpacked) as AsyncIterable<Buffer>;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new RekindleError('DataError', `${path} can't be unpacked: ${reason}`, {
      hint: 'The name ends in .gz; check that the file is whole and gzipped.',
      cause: error,
    });
  } finally {
    file.destroy();
  }
}
