/** A data set as activities see it: tasks by cursor, the same task for the same cursor whoever asks and how often. */
import type { Task } from '../records.ts';

export interface DataSet {
  /** Distinct tasks: those of one epoch, or of the whole evaluation set; null when there is no end or it was not counted. */
  readonly size: number | null;
  /**
   * The task at a cursor (0, 1, 2 …); its id is unique within the data set. Training goes on for ever, epoch after epoch;
   * an evaluation set ends: past its end DataError.
   */
  taskAt(cursor: number): Task;
  /** The example in row `row` of warm-start step `step`. Never a held-out task. */
  exampleAt(step: number, row: number): Example;
}

/** A prompt and the reference response that supervised training imitates. */
export interface Example {
  prompt: string;
  response: string;
}

export type Split = 'train' | 'evaluation';
