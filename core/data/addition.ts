/**
 * Generated addition problems: `123+456=` with the answer `579`. Operands have exactly the given number of digits, since
 * a policy this small learns a fixed layout far more surely.
 *
 * A tenth of the unordered operand pairs is held out, both orders together, by a hash of the pair alone: training and warm
 * start never see one, whatever the run seed.
 */
import { RekindleError } from '../errors.ts';
import { seedAt, uniformAt, type Seed } from '../seeds.ts';
import type { Task } from '../records.ts';
import type { DataSet, Example, Split } from './data-set.ts';

const heldOutShare = 0.1;
/** Up to this many digits the held-out problems are few enough to be counted when a data set is opened. */
const countedDigits = 2;

interface Operands {
  a: number;
  b: number;
}

export function isHeldOut({ a, b }: Operands): boolean {
  return uniformAt(seedAt(0, 'heldOut', Math.min(a, b), Math.max(a, b)), 0) < heldOutShare;
}

/** Tokens of a prompt and of the longest answer with its newline, one token a character. */
export function additionLengths(digits: number): { prompt: number; response: number } {
  return { prompt: 2 * digits + 2, response: digits + 2 };
}

/** The addition problems of one split. The evaluation set is the same for every run seed. */
export function additionDataSet(digits: number, split: Split, runSeed: number): DataSet {
  const evaluation = split === 'evaluation';
  const problems = evaluation ? heldOutProblems(digits) : null;
  return {
    size: evaluation ? heldOutCount(digits) : null,
    taskAt(cursor) {
      const operands =
        problems?.(cursor) ?? trainingProblem(digits, seedAt(runSeed, 'generatedTask', cursor));
      return { id: `addition-${cursor}`, ...written(operands) };
    },
    exampleAt(step, row): Example {
      const { prompt, answer } = written(trainingProblem(digits, seedAt(runSeed, 'warmStart', step, row)));
      return { prompt, response: answer };
    },
  };
}

/** How many held-out problems there are, orders counted apart; null where counting them would take long. */
export function heldOutCount(digits: number): number | null {
  if (digits > countedDigits) return null;
  const total = operandCount(digits) ** 2;
  let count = 0;
  for (let index = 0; index < total; index++) if (isHeldOut(problemAt(digits, index))) count++;
  return count;
}

function written({ a, b }: Operands): Pick<Task, 'prompt' | 'answer'> {
  return { prompt: `${a}+${b}=`, answer: String(a + b) };
}

/** The first pair of a seed's stream that is not held out. */
function trainingProblem(digits: number, seed: Seed): Operands {
  for (let draw = 0; ; draw++) {
    const operands = {
      a: operandAt(digits, uniformAt(seed, 2 * draw)),
      b: operandAt(digits, uniformAt(seed, 2 * draw + 1)),
    };
    if (!isHeldOut(operands)) return operands;
  }
}

/**
 * The held-out problems in a fixed order without repetition: all pairs are visited in strides of about the golden ratio of
 * their number, coprime to it so that each is met once, and those that are held out are kept as far as was asked.
 */
function heldOutProblems(digits: number): (cursor: number) => Operands {
  const total = operandCount(digits) ** 2;
  const stride = coprimeStride(total);
  const found: Operands[] = [];
  let visited = 0;
  let index = 0;
  return (cursor) => {
    while (found.length <= cursor && visited < total) {
      const operands = problemAt(digits, index);
      if (isHeldOut(operands)) found.push(operands);
      index = (index + stride) % total;
      visited++;
    }
    const operands = found[cursor];
    if (operands === undefined) {
      throw new RekindleError(
        'DataError',
        `addition with ${digits} digits has ${found.length} held-out problems; problem ${cursor + 1} was asked for`,
        { hint: 'Lower evaluation.tasks or use more digits.' },
      );
    }
    return operands;
  };
}

function lowestOperand(digits: number): number {
  return 10 ** (digits - 1);
}

function operandCount(digits: number): number {
  return 9 * lowestOperand(digits);
}

function operandAt(digits: number, uniform: number): number {
  return lowestOperand(digits) + Math.floor(uniform * operandCount(digits));
}

function problemAt(digits: number, index: number): Operands {
  const operands = operandCount(digits);
  return {
    a: lowestOperand(digits) + Math.floor(index / operands),
    b: lowestOperand(digits) + (index % operands),
  };
}

/** The number of pairs has no prime factors but 2, 3 and 5. */
function coprimeStride(total: number): number {
  let stride = Math.floor(total * 0.618);
  while (stride % 2 === 0 || stride % 3 === 0 || stride % 5 === 0) stride++;
  return stride;
}
