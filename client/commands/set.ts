import { RekindleError } from '../../core/errors.ts';
import { hyperparametersSchema, type Hyperparameters } from '../../core/recipe.ts';
import { steerable, steeringProblem } from '../../core/steerable.ts';
import { contextOf, withConnection, withServerOptions, type ServerOptions } from '../terminal/context.ts';
import type { Register } from './command.ts';

/** `rekindle set <run> key=value…` */
export const registerSet: Register = (program, io) => {
  withServerOptions(program.command('set'))
    .description(`change a running run's ${Object.keys(steerable).join(', ')}`)
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

/** Throws UsageError that names each assignment that is wrong, and what was expected. */
export function parseHyperparameters(assignments: string[]): Hyperparameters {
  const values: Record<string, number> = {};
  const problems: string[] = [];
  for (const assignment of assignments) {
    const [, name, text] = /^([^=]+)=(.*)$/s.exec(assignment) ?? [];
    const problem = problemOf(values, name, text);
    if (name !== undefined && problem === undefined) values[name] = Number(text);
    else problems.push(`${assignment}: ${problem}`);
  }
  if (problems.length > 0) {
    throw new RekindleError('UsageError', problems.join('; '), {
      hint: `These can be changed, each a positive number: ${Object.keys(steerable).join(', ')}.`,
    });
  }
  return hyperparametersSchema.parse(values);
}

function problemOf(
  earlier: Record<string, number>,
  name: string | undefined,
  text: string | undefined,
): string | undefined {
  if (name === undefined || text === undefined) return 'expected key=value';
  if (name in earlier) return 'given twice';
  return steeringProblem(name, text.trim() === '' || Number.isNaN(Number(text)) ? text : Number(text));
}
