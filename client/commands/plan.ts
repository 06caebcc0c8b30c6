import { planRecipe } from '../check-recipe.ts';
import { causes } from '../../core/errors.ts';
import { renderPlan } from '../render-plan.ts';
import { contextOf, withCommonOptions, type CommonOptions } from '../terminal/context.ts';
import { collect, type Register } from './command.ts';

/** `rekindle plan <recipe>`: the dry run. When something is missing, the exit code is that of the error of a start. */
export const registerPlan: Register = (program, io, setExitCode) => {
  withCommonOptions(program.command('plan'))
    .description('check a recipe and show what it would do, without starting anything')
    .argument('<recipe>')
    .option('--set <path=value>', 'override a setting of the recipe; may be given several times', collect)
    .action(async (recipe: string, options: CommonOptions & { set?: string[] }) => {
      const { output } = contextOf(io, options);
      const checked = await planRecipe(recipe, options.set ?? []);
      output.result({ ...checked.plan, resolved: checked.recipe }, renderPlan(checked, output.colors));
      if (checked.plan.cause !== null) setExitCode(causes[checked.plan.cause].exitCode);
    });
};
