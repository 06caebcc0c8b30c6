/** Rows of a Parquet file, one row group in memory at a time. */
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects, parquetSchema } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { RekindleError } from '../../core/errors.ts';

/** Yields the given columns of every row, in order. Throws DataError if the file is not Parquet or lacks a column. */
export async function* readParquet(
  path: string,
  columns: readonly string[],
): AsyncGenerator<Record<string, unknown>> {
  const file = await asyncBufferFromFile(path);
  const metadata = await readable(path, parquetMetadataAsync(file));
  const found = parquetSchema(metadata).children.map((child) => child.element.name);
  const missing = columns.filter((column) => !found.includes(column));
  if (missing.length > 0) {
    throw new RekindleError(
      'DataError',
      `${path}: no column ${missing.map((name) => `"${name}"`).join(' or ')}; the columns are ${found.join(', ')}`,
      { hint: `Expected the columns ${columns.join(' and ')}.` },
    );
  }
  let rowStart = 0;
  for (const group of metadata.row_groups) {
    const rowEnd = rowStart + Number(group.num_rows);
    const options = { file, metadata, columns: [...columns], rowStart, rowEnd, compressors };
    yield* await readable(path, parquetReadObjects(options));
    rowStart = rowEnd;
  }
}

async function readable<T>(path: string, reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new RekindleError('DataError', `${path} can't be read as Parquet: ${reason}`, {
      hint: 'The name ends in .parquet; check that the file is whole.',
      cause: error,
    });
  }
}
