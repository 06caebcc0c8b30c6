/** The lint rules that the code relies on fire on code that breaks them. */
import { fileURLToPath } from 'node:url';
import { ESLint } from 'eslint';
import { beforeAll, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Rule → code that breaks it. */
const breaches: Record<string, string> = {
  '@typescript-eslint/no-floating-promises': `export function f(): void { Promise.resolve(1); }`,
  '@typescript-eslint/no-misused-promises': `export const f = (): void => { [1].forEach(async () => { await null; }); };`,
  '@typescript-eslint/no-explicit-any': `export const f = (x: any): string => String(x as string);`,
  '@typescript-eslint/consistent-type-imports': `import { RekindleError } from './errors.ts'; export type E = RekindleError;`,
  '@typescript-eslint/explicit-module-boundary-types': `export function f() { return 1; }`,
  '@typescript-eslint/no-unused-vars': `const unused = 1; export const used = 2;`,
  'no-restricted-syntax': `export default 1;`,
  'no-console': `console.log(1);`,
  eqeqeq: `export const f = (x: number): boolean => x == 1;`,
};

let eslint: ESLint;
beforeAll(() => {
  eslint = new ESLint({ cwd: root });
});

/** A file of the project whose text is replaced for the occasion: type-aware rules need one that the project knows. */
async function rulesBrokenBy(code: string): Promise<(string | null)[]> {
  const [result] = await eslint.lintText(`${code}\n`, { filePath: `${root}core/ids.ts` });
  return result!.messages.map(({ ruleId }) => ruleId);
}

it.each(Object.entries(breaches))('%s fires', async (rule, code) => {
  expect(await rulesBrokenBy(code)).toContain(rule);
});

it('nothing fires on code that keeps the rules', async () => {
  expect(await rulesBrokenBy(`export const f = (x: number): boolean => x === 1;`)).toEqual([]);
});
