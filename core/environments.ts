/** What can be said of an environment from its settings alone. */
import type { EnvironmentSettings, Recipe } from './recipe.ts';

/** Most responses of an episode. */
export function mostTurns(environment: EnvironmentSettings): number {
  switch (environment.kind) {
    case 'single-turn':
      return 1;
    case 'attempts':
      return environment.attempts;
    case 'command':
      return environment.maxTurns;
  }
}

/** Whether the first observation is made by a program; otherwise it is the text of the task, wherever it is asked for. */
export function opensProgram({ environment }: Pick<Recipe, 'environment'>): boolean {
  return environment.kind === 'command';
}

/**
 * Tokens that the last turn of the shortest full episode needs, with the response still to come: each turn before it has at
 * least one token, and the environment says what it always says. `prompt` and `feedback` in tokens, 1 where unknown.
 */
export function leastTokensOfAllTurns(
  environment: EnvironmentSettings,
  { prompt, feedback, maxNewTokens }: { prompt: number; feedback: number; maxNewTokens: number },
): number {
  return prompt + (mostTurns(environment) - 1) * (1 + feedback) + maxNewTokens;
}
