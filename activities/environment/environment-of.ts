/** The registry of environments, by their kind in a recipe. */
import type { Recipe } from '../../core/recipe.ts';
import { attempts } from './attempts.ts';
import { command } from './command/command.ts';
import type { LivePrograms } from './command/live-programs.ts';
import type { Environment } from './environment.ts';
import { singleTurn } from './single-turn.ts';

export function environmentOf(
  { environment, rewards }: Pick<Recipe, 'environment' | 'rewards'>,
  programs: LivePrograms,
): Environment {
  switch (environment.kind) {
    case 'single-turn':
      return singleTurn(rewards);
    case 'attempts':
      return attempts(environment, rewards);
    case 'command':
      return command(environment, rewards, programs);
  }
}
