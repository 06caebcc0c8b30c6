import { format, resolveConfig } from 'prettier';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { recipeJsonSchema } from './recipe-json-schema.ts';

const committed = fileURLToPath(new URL('../recipes/recipe.schema.json', import.meta.url));

test('the committed schema file is what the recipe schema says (npm run schema writes it)', async () => {
  const text = await format(JSON.stringify(recipeJsonSchema()), {
    ...(await resolveConfig(committed)),
    parser: 'json',
  });
  await expect(text).toMatchFileSnapshot(committed);
});
