import { RekindleError } from '../../core/errors.ts';
import { hyperparametersSchema, type Hyperparameters } from '../../core/recipe.ts';
import { contextOf, withConnection, withServerOptions, type ServerOptions } from '../terminal/context.ts';
import type { Register } from './command.ts';

/** `rekindle set <run> key=value…` */
export const registerSet: Register = (program, io) => {
  withServerOptions(program.command('set'))
    .description(`change a running run's ${Object.keys(hyperparametersSchema.shape).join(', ')}`)
    .argument('<run>')
    .argument('<key=value...>')
    .action(async (run: string, assignments: string[], options: ServerOptions) => {
      const changes = parseHyperparameters(assignments);
      const context = contextOf(io, options);
      const state = await withConnection(context, (rekindle) =>
        rekindle.run(run).setHyperparameters(changes),
      );
      context.output.result(state, `run ${run}: ${assignments.join(', ')} from the next iteration on`);
    });
};

/** Throws UsageError that names the assignment and the settings that exist. */
export function parseHyperparameters(assignments: string[]): Hyperparameters {
  const values = assignments.map((assignment) => {
    const at = assignment.indexOf('=');
    if (at > 0) return [assignment.slice(0, at), Number(assignment.slice(at + 1))] as const;
    throw new RekindleError('UsageError', `${JSON.stringify(assignment)}: expected key=value`);
  });
  const parsed = hyperparametersSchema.safeParse(Object.fromEntries(values));
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) => [...path, message].join(': '));
  throw new RekindleError('UsageError', `${assignments.join(' ')}: ${problems.join('; ')}`, {
    hint: `These can be changed, each a positive number: ${Object.keys(hyperparametersSchema.shape).join(', ')}.`,
  });
}
