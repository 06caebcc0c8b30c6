import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { RekindleError } from '../../core/errors.ts';
import { tinyConfig, writeTinyModel } from '../../tests/fixtures/tiny-model.ts';
import { scratchFolder } from '../../tests/harness/scratch-folder.ts';
import { exportModel } from './export.ts';
import { jsonFile } from './model-files.ts';
import { openModelFolder } from './model-folder.ts';
import { parseSafetensorsIndex } from './safetensors-index.ts';
import { readSafetensors } from './safetensors.ts';
import { openWeightFiles } from './weight-files.ts';

let whole: string;
let sharded: string;
beforeEach(async () => {
  const root = scratchFolder();
  [whole, sharded] = [join(root, 'whole'), join(root, 'sharded')];
  await writeTinyModel(whole);
  await exportModel({ ...(await openModelFolder(whole)), folder: sharded, maxShardBytes: 50_000 });
});

const indexPath = (): string => join(sharded, 'model.safetensors.index.json');
interface Index {
  metadata: { total_size: number };
  weight_map: Record<string, string>;
}
async function changeIndex(change: (index: Index) => unknown): Promise<void> {
  const index = JSON.parse(await readFile(indexPath(), 'utf8')) as Index;
  change(index);
  await writeFile(indexPath(), jsonFile(index));
}
async function refusal(): Promise<string> {
  const error: unknown = await openWeightFiles(indexPath()).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(RekindleError);
  expect((error as RekindleError).kind).toBe('ModelError');
  return (error as RekindleError).message;
}

describe('openWeightFiles', () => {
  it('gives the tensors of all shards, as one file has them', async () => {
    const { tensors } = await readSafetensors(join(whole, 'model.safetensors'));
    const { config, openWeights } = await openModelFolder(sharded);
    expect(config).toEqual(tinyConfig);
    const weights = await openWeights();
    try {
      expect([...weights.tensors.keys()].sort()).toEqual([...tensors.keys()].sort());
      for (const [name, { data }] of tensors) {
        const values = new Float32Array(data.length);
        await weights.readInto(name, values);
        expect(values).toEqual(data);
      }
    } finally {
      await weights.close();
    }
  });

  it('names a shard that is missing', async () => {
    await rm(join(sharded, 'model-00002-of-00003.safetensors'));
    expect(await refusal()).toMatch(/model-00002-of-00003\.safetensors cannot be opened: ENOENT/);
  });

  it('names a tensor that a shard does not hold', async () => {
    const [first, second] = ['model-00001-of-00003.safetensors', 'model-00002-of-00003.safetensors'];
    await rename(join(sharded, first), join(sharded, 'x'));
    await rename(join(sharded, second), join(sharded, first));
    await rename(join(sharded, 'x'), join(sharded, second));
    expect(await refusal()).toMatch(
      /00001-of-00003\.safetensors does not hold tensor 'model\.embed_tokens\.weight'/,
    );
  });

  it('names a tensor that a shard should not hold', async () => {
    await changeIndex((index) => delete index.weight_map['model.layers.0.input_layernorm.weight']);
    expect(await refusal()).toMatch(
      /holds tensor 'model\.layers\.0\.input_layernorm\.weight', which .* does not put/,
    );
  });

  it.each([
    '/etc/passwd.safetensors',
    '../whole/model.safetensors',
    'sub/model.safetensors',
    'model.safetensors.index.json',
    '..\\x.safetensors',
    '',
  ])('refuses a shard named %j', async (name) => {
    await mkdir(join(sharded, 'sub'));
    await changeIndex((index) => (index.weight_map['model.norm.weight'] = name));
    expect(await refusal()).toContain(
      `weight_map puts tensor 'model.norm.weight' in ${JSON.stringify(name)}`,
    );
  });

  it('refuses shards of another size than the index says', async () => {
    await changeIndex((index) => (index.metadata.total_size += 4));
    expect(await refusal()).toMatch(/metadata\.total_size is \d+, but the shards hold \d+ bytes/);
  });
});

describe('parseSafetensorsIndex', () => {
  it('refuses an index without tensors', () => {
    expect(() => parseSafetensorsIndex(jsonFile({ weight_map: {} }), 'i')).toThrow(
      'i: weight_map names no tensor',
    );
  });

  it('survives any content', () => {
    fc.assert(
      fc.property(fc.json(), fc.dictionary(fc.string(), fc.string()), (metadata, weight_map) => {
        try {
          parseSafetensorsIndex(jsonFile({ metadata: JSON.parse(metadata) as unknown, weight_map }), 'i');
        } catch (error) {
          expect(error).toBeInstanceOf(RekindleError);
        }
      }),
    );
  });
});
