import { RekindleError } from '../../core/errors.ts';

/** What is wrong with a GGUF file, under the name of the file. */
export type Refuse = (problem: string, hint?: string) => never;

export function refusing(file: string): Refuse {
  return (problem, hint) => {
    throw new RekindleError('ModelError', `${file}: ${problem}`, hint === undefined ? {} : { hint });
  };
}
