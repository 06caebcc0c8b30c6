/** Files that lie: whatever is in them, a model is opened or refused with a ModelError, soon and without taking memory. */
import { readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { isCause } from '../../core/errors.ts';
import { writeTinyModel } from '../../tests/fixtures/tiny-model.ts';
import { scratchFolder } from '../../tests/harness/scratch-folder.ts';
import { loadTokenizer } from '../tokenizer/index.ts';
import { jsonFile, type ModelFiles } from './model-files.ts';
import { openModelFolder } from './model-folder.ts';

let folder: string;
let files: ModelFiles;
beforeEach(async () => {
  folder = scratchFolder();
  await writeTinyModel(folder);
  files = Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))]));
});

type Json = Record<string, unknown>;

function parsed(name: string): Json {
  return JSON.parse(new TextDecoder().decode(files[name])) as Json;
}

/** Every place in a JSON value that holds something. */
function placesOf(value: unknown, path: string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return [path];
  const entries = Object.entries(value);
  // Of a vocabulary and its like a few places stand for all.
  const shown = entries.length > 20 ? entries.slice(0, 3) : entries;
  return [path, ...shown.flatMap(([key, inner]) => placesOf(inner, [...path, key]))];
}

function withChange(value: unknown, [key, ...rest]: string[], change: unknown): unknown {
  if (key === undefined) return change;
  const copy = (Array.isArray(value) ? [...(value as unknown[])] : { ...(value as object) }) as Json;
  copy[key] = withChange(copy[key], rest, change);
  return copy;
}

const odd = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    -1,
    0,
    0.5,
    1e9,
    2 ** 53,
    1e300,
    '',
    'x',
    '(',
    '\\',
    '../..',
    [],
    {},
    [[]],
    { type: 'Sequence' },
  ),
  fc.jsonValue({ maxDepth: 2 }),
);

async function settles(action: () => unknown): Promise<void> {
  try {
    await action();
  } catch (error) {
    if (!isCause(error, 'ModelError')) throw error;
  }
}

describe('a model folder with one value changed', () => {
  it('in config.json is opened or refused', async () => {
    const config = parsed('config.json');
    const places = placesOf(config);
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...places), odd, async (place, value) => {
        await writeFile(join(folder, 'config.json'), jsonFile(withChange(config, place, value)));
        await settles(() => openModelFolder(folder));
      }),
      { numRuns: 150 },
    );
  });

  it.each(['tokenizer.json', 'tokenizer_config.json'])('in %s is opened or refused', async (name) => {
    const original = parsed(name);
    const places = placesOf(original);
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...places), odd, async (place, value) => {
        await settles(() => {
          const tokenizer = loadTokenizer({ ...files, [name]: jsonFile(withChange(original, place, value)) });
          tokenizer.decode(tokenizer.encode('the thing <|end|> in 12 caf\u00e9 \u65e5'));
        });
      }),
      { numRuns: 300 },
    );
  });

  it('that claims a billion layers is refused before they are listed', async () => {
    await writeFile(
      join(folder, 'config.json'),
      jsonFile({ ...parsed('config.json'), num_hidden_layers: 1e9 }),
    );
    await expect(openModelFolder(folder)).rejects.toThrow('asks for 1000000000 layers');
  });
});

it('a template that would run for ever or fill the memory is refused', () => {
  const tokenizer = loadTokenizer({
    ...files,
    'chat_template.jinja': Buffer.from('{% for i in range(100000000) %}x{% endfor %}'),
  });
  expect(() => tokenizer.applyChatTemplate([], { addGenerationPrompt: false })).toThrow('at most 100000');
});
