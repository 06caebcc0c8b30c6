/** Tasks and warm-start examples from GSM8K rows. */
import type { DataSet, Split } from '../../core/data/data-set.ts';
import { epochOrder } from '../../core/data/epoch-order.ts';
import { finalAnswer, referenceSolution } from '../../core/data/gsm8k.ts';
import { RekindleError } from '../../core/errors.ts';
import { integerAt, permutation, seedAt } from '../../core/seeds.ts';
import type { Gsm8kRows } from './gsm8k-rows.ts';

/**
 * The data set over the rows with the given numbers. Training takes them epoch after epoch in orders of the run seed;
 * evaluation once each, shuffled the same way in every run, so that a first few are a fair sample.
 */
export function gsm8kDataSet(rows: Gsm8kRows, numbers: Uint32Array, split: Split, runSeed: number): DataSet {
  const taskOf = (number: number, id: string) => {
    const row = rows.row(number);
    return { id, prompt: row.question, answer: finalAnswer(row) };
  };
  const trainingPosition = epochOrder(numbers.length, runSeed);
  const evaluationOrder = split === 'evaluation' ? permutation(numbers.length, seedAt(0, 'heldOut')) : null;
  return {
    size: numbers.length,
    taskAt(cursor) {
      if (evaluationOrder === null) {
        const { epoch, row } = trainingPosition(cursor);
        return taskOf(numbers[row]!, `gsm8k-${numbers[row]!}@${epoch}`);
      }
      const position = evaluationOrder[cursor];
      if (position === undefined) {
        throw new RekindleError(
          'DataError',
          `the evaluation set has ${numbers.length} rows; row ${cursor + 1} was asked for`,
          { hint: 'Lower evaluation.tasks.' },
        );
      }
      return taskOf(numbers[position]!, `gsm8k-${numbers[position]!}`);
    },
    exampleAt(step, rowOfBatch) {
      const drawn = integerAt(seedAt(runSeed, 'warmStart', step, rowOfBatch), 0, numbers.length);
      const row = rows.row(numbers[drawn]!);
      return { prompt: row.question, response: referenceSolution(row) };
    },
  };
}
