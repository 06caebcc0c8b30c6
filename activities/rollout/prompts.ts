/** From a task's text to the token ids that the policy sees. */
import type { Recipe } from '../../core/recipe.ts';
import type { Tokenizer } from '../../gpu/tokenizer/index.ts';

export function promptIds(recipe: Recipe, tokenizer: Tokenizer, text: string): number[] {
  if (recipe.prompt.template === 'raw') return tokenizer.encode(text);
  const system =
    recipe.prompt.system === undefined ? [] : [{ role: 'system' as const, content: recipe.prompt.system }];
  const rendered = tokenizer.applyChatTemplate([...system, { role: 'user', content: text }], {
    addGenerationPrompt: true,
  });
  return tokenizer.encode(rendered);
}
