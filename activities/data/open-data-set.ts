/** From a recipe's data section to a data set. */
import { RekindleError } from '../../core/errors.ts';
import { additionDataSet } from '../../core/data/addition.ts';
import type { DataSet, Split } from '../../core/data/data-set.ts';
import type { DataSource, Recipe } from '../../core/recipe.ts';
import { gsm8kDataSet } from './gsm8k-data-set.ts';
import { openGsm8kRows } from './gsm8k-rows.ts';
import { hubFile } from './hub-file.ts';

/**
 * Opens the training or evaluation part of a recipe's data. Without `data.evaluation` a tenth of the training source is held
 * out for it. The evaluation part is the same for every seed. Throws DataError for missing or broken data.
 */
export async function openDataSet(data: Recipe['data'], split: Split, runSeed: number): Promise<DataSet> {
  const source = split === 'train' ? data.train : (data.evaluation ?? data.train);
  if (source.source === 'addition') return additionDataSet(source.digits, split, runSeed);

  const path = await localFile(source);
  const rows = await openGsm8kRows(path);
  let numbers: Uint32Array;
  if (data.evaluation !== undefined) numbers = Uint32Array.from({ length: rows.size }, (_, number) => number);
  else numbers = split === 'train' ? rows.training : rows.heldOut;
  if (numbers.length === 0) {
    throw new RekindleError(
      'DataError',
      `data file ${path}: none of its ${rows.size} rows falls in the ${split} part`,
      {
        hint: 'Give data.evaluation a file of its own.',
      },
    );
  }
  return gsm8kDataSet(rows, numbers, split, runSeed);
}

type QuestionSource = Extract<DataSource, { source: 'gsm8k' }>;

async function localFile({ path, hub }: QuestionSource): Promise<string> {
  if (hub !== undefined) return hubFile(hub);
  if (path !== undefined) return path;
  throw new RekindleError('DataError', 'data source gsm8k: neither path nor hub given');
}
