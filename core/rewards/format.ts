/**
 * The format reward: a regular expression somewhere in the response. A policy under training writes whatever text it likes,
 * so matching uses RE2, whose time is linear in the response for every pattern; a backtracking matcher could be made to hang.
 */
import { RE2JS } from 're2js';
import { RekindleError } from '../errors.ts';
import type { Verifier } from './verifier.ts';

/** Longer responses (UTF-16 code units) score 0 without being matched. */
export const longestFormattedResponse = 1_000_000;

/**
 * 1 if the pattern matches anywhere in the response (anchor it with ^ and $ to speak of the whole), else 0. The syntax is
 * RE2's: no look-around, no back-references, repeat counts up to 1,000; a dot matches a newline.
 * Throws RecipeError if the pattern is not of that syntax.
 */
export function format(pattern: string): Verifier {
  const expression = compile(pattern);
  return (response) => Number(response.length <= longestFormattedResponse && expression.test(response));
}

/** Why a pattern cannot be used, with the pattern; undefined when it can. */
export function patternProblem(pattern: string): string | undefined {
  try {
    RE2JS.compile(pattern, RE2JS.DOTALL);
    return undefined;
  } catch (error) {
    const why = error instanceof Error ? `: ${error.message}` : '';
    return `${JSON.stringify(pattern)} is not an RE2 regular expression${why} (look-around and back-references do not exist)`;
  }
}

function compile(pattern: string): RE2JS {
  const problem = patternProblem(pattern);
  if (problem === undefined) return RE2JS.compile(pattern, RE2JS.DOTALL);
  throw new RekindleError('RecipeError', `rewards: pattern ${problem}`, {
    hint: 'The syntax is described at https://github.com/google/re2/wiki/Syntax.',
  });
}
