/** An activity is a function between two schemas: a wrong input or output never passes. */
import type { z } from 'zod';
import { RekindleError } from '../core/errors.ts';

export function defineActivity<I extends z.ZodType, O extends z.ZodType>(
  name: string,
  input: I,
  output: O,
  body: (input: z.output<I>) => Promise<z.input<O>>,
): (input: z.input<I>) => Promise<z.output<O>> {
  return async (given) => check(name, 'result', output, await body(check(name, 'input', input, given)));
}

function check<S extends z.ZodType>(name: string, what: string, schema: S, value: unknown): z.output<S> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(
    (issue) => `${issue.path.join('.') || '(whole)'}: ${issue.message}`,
  );
  throw new RekindleError('UsageError', `${name}: wrong ${what}: ${problems.join('; ')}`);
}
