/** What the documentation shows is so: commands, recipes, programs, names, links and tables are checked against the code. */
import { existsSync } from 'node:fs';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import ts from 'typescript';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { loadRecipe } from '../../activities/recipe/load-recipe.ts';
import { withAbsolutePaths } from '../../activities/recipe/recipe-file.ts';
import { metricMeaning } from '../../core/metric-names.ts';
import { isKnownPath } from '../../core/recipe-keys.ts';
import { parseWorkerOptions } from '../../workers/options.ts';
import { recipeMapSchema } from './recipe-map.ts';
import { checkCommandLine, commandLines, optionValues } from './command-lines.ts';
import { generatedTables, withTables } from './generated-tables.ts';
import { blocks, headings, links, page, pages, prose, root } from './pages.ts';
import { recipeRows } from './recipe-tables.ts';

describe.each(pages.map((one) => [one.name, one] as const))('%s', (_, one) => {
  test('has links that lead to a file, and to a heading where they name one', () => {
    for (const { target, path, heading } of links(one)) {
      if (path === null) continue;
      expect(existsSync(join(root, path)), target).toBe(true);
      if (heading !== null) expect(headings(page(path)), target).toContain(heading);
    }
  });

  test('shows commands that exist, with arguments and options that they take', async () => {
    for (const { where, program, args } of commandLines(one)) {
      if (program === 'rekindle') await expect(checkCommandLine(args), where).resolves.toBeUndefined();
      else if (program === 'node') {
        expect(existsSync(join(root, args[0]!.replace(/^dist\/(.*)\.js$/, '$1.ts'))), where).toBe(true);
        expect(parseWorkerOptions(args.slice(1)), where).toHaveProperty('pools');
      } else expect(otherPrograms, where).toContain(program);
    }
  });

  test('shows recipes that are accepted', async () => {
    for (const { page: where, line, text } of blocks(one, 'yaml')) {
      const written = withAbsolutePaths(recipeMapSchema.parse(parse(text)), root);
      await expect(loadRecipe(written, [], root), `${where}:${line}`).resolves.toHaveProperty('name');
    }
  });

  test('shows overrides that are accepted by their recipe', async () => {
    for (const { where, program, args } of commandLines(one)) {
      const [command, recipe] = args;
      if (program !== 'rekindle' || !['train', 'plan'].includes(command!)) continue;
      if (recipe!.startsWith('./')) continue;
      await expect(loadRecipe(recipe!, optionValues(args, '--set'), root), where).resolves.toHaveProperty(
        'name',
      );
    }
  });

  test('has tables that say what the code says (npx vitest run tests/docs --update writes them)', async () => {
    const text = await format(withTables(one.text), {
      ...(await resolveConfig(one.path)),
      parser: 'markdown',
    });
    await expect(text).toMatchFileSnapshot(one.path);
  });

  test('names metrics, recipe keys and files that exist', () => {
    for (const [, name] of prose(one).matchAll(/`([^`\n]+)`/g)) {
      if (/^[a-z_]+(\/[a-z_-]+)+$/.test(name!) && metricSubjects.includes(name!.split('/')[0]!))
        expect(metricMeaning(name!), name).toBeDefined();
      if (
        /^(core|store|gpu|activities|workflows|workers|client|deploy|tests|recipes|docs)\/[\w./-]+$/.test(
          name!,
        )
      )
        expect(existsSync(join(root, name!)), name).toBe(true);
      if (
        /^[a-z]\w+(\.[a-z]\w+)+$/i.test(name!) &&
        isKnownPath([name!.split('.')[0]!]) &&
        !isFileName.test(name!)
      )
        expect(isKnownPath(name!.split('.')), name).toBe(true);
    }
  });
});

const otherPrograms = ['npm', 'temporal', 'ps', 'kill', 'rsync', 'curl', 'vitest'];
const isFileName = /\.(json|safetensors|yaml|ts)$/;
const metricSubjects = [
  ...['reward', 'response_length', 'groups', 'outcomes', 'advantage', 'batch', 'loss', 'policy', 'gradient'],
  ...['optimizer', 'update', 'warm_start', 'tokens', 'time'],
];

describe('the generated tables', () => {
  test('stand in a page each', () => {
    const all = pages.map(({ text }) => text).join('\n');
    for (const name of Object.keys(generatedTables))
      expect(all, name).toContain(`<!-- generated: ${name} -->`);
  });

  test('give the meaning of every recipe key', () => {
    for (const [name, rows] of Object.entries(recipeRows)) {
      for (const { path, meaning, value } of rows()) {
        if (!value.startsWith('`')) expect(meaning, `${name}: ${path}`).not.toBe('');
      }
    }
  });
});

test('programs in the documentation type-check against the exports of the package', async () => {
  // Inside the repository, so that the types of Node are found; `rekindle` is this package.
  const folder = await mkdtemp(join(root, 'node_modules', '.docs-'));
  try {
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
    const files = await Promise.all(
      pages
        .flatMap((one) => blocks(one, 'ts'))
        .map(async ({ text }, i) => {
          const file = join(folder, `snippet-${i}.mts`);
          await writeFile(file, `${text}export {};\n`);
          return file;
        }),
    );
    expect(files.length).toBeGreaterThan(0);
    const program = ts.createProgram(files, {
      ...{
        strict: true,
        noEmit: true,
        skipLibCheck: true,
        allowImportingTsExtensions: true,
        types: ['node'],
      },
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.NodeNext,
      moduleResolution: ts.ModuleResolutionKind.NodeNext,
      paths: { rekindle: [join(root, 'client', 'index.ts')] },
    });
    const messages = files.flatMap((file) =>
      ts
        .getPreEmitDiagnostics(program, program.getSourceFile(file))
        .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')),
    );
    expect(messages).toEqual([]);
  } finally {
    await rm(folder, { recursive: true });
  }
}, 60_000);
