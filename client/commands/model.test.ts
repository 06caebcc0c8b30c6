import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startHub } from '../../tests/fixtures/hub-server.ts';
import { writeTinyGguf } from '../../tests/fixtures/tiny-gguf.ts';
import { tinyConfig, writeTinyModel } from '../../tests/fixtures/tiny-model.ts';
import { scratchFolder } from '../../tests/harness/scratch-folder.ts';
import { openModelFolder } from '../../gpu/model/model-folder.ts';
import { runCli } from '../program.ts';

let root: string;
beforeEach(async () => {
  root = scratchFolder();
  await writeTinyModel(join(root, 'model'));
});
afterEach(() => vi.unstubAllEnvs());

async function run(...args: string[]): Promise<{ code: number; out: string; errors: string }> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const io = {
    stdin: new PassThrough(),
    stdout,
    stderr,
    interactive: false,
    env: {},
    onInterrupt: () => () => {},
  };
  const code = await runCli(['model', ...args, '--home', root], io);
  return { code, out: String(stdout.read() ?? ''), errors: String(stderr.read() ?? '') };
}

describe('rekindle model', () => {
  it('exports a folder in another dtype and in shards', async () => {
    const to = join(root, 'small');
    const { code, out, errors } = await run(
      'export',
      join(root, 'model'),
      '--to',
      to,
      '--dtype',
      'bf16',
      '--max-shard-size',
      '30KB',
      '--json',
    );
    expect(errors).toMatch(/100 % \([\d.]+ KiB of [\d.]+ KiB\)/);
    expect([code, JSON.parse(out)]).toEqual([0, { model: join(root, 'model'), folder: to, dtype: 'bf16' }]);
    expect(await readdir(to)).toContain('model.safetensors.index.json');
    expect(JSON.parse(await readFile(join(to, 'config.json'), 'utf8'))).toMatchObject({
      torch_dtype: 'bfloat16',
    });
    const weights = await (await openModelFolder(to)).openWeights();
    await weights.close();
    expect(new Set(Array.from(weights.tensors.values(), ({ dtype }) => dtype))).toEqual(new Set(['BF16']));
  });

  it('imports a GGUF file, and a model of the hub', async () => {
    await writeTinyGguf(join(root, 'tiny.gguf'));
    expect((await run('import', join(root, 'tiny.gguf'), '--to', join(root, 'a'))).code).toBe(0);
    expect((await openModelFolder(join(root, 'a'))).config).toEqual(tinyConfig);
    const files: Record<string, Buffer> = {};
    for (const name of await readdir(join(root, 'model')))
      files[name] = await readFile(join(root, 'model', name));
    const hub = await startHub('owner/tiny', files);
    vi.stubEnv('HF_ENDPOINT', hub.url);
    vi.stubEnv('HF_HUB_CACHE', join(root, 'cache'));
    vi.stubEnv('HF_TOKEN', 'hf_secret');
    const { code, errors } = await run('import', 'owner/tiny', '--to', join(root, 'b'));
    expect(code).toBe(0);
    expect(errors).toContain('download owner/tiny: 100 %');
    expect((await readFile(join(root, 'b', 'model.safetensors'))).equals(files['model.safetensors']!)).toBe(
      true,
    );
  });

  it('inspects a model, for people and for programs', async () => {
    const { code, out } = await run('inspect', join(root, 'model'), '--json');
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      config: tinyConfig,
      tokenizer: { vocabSize: 269, stopTokens: [{ id: 267, text: '<|end|>' }], chatTemplate: true },
      dtypes: { F32: expect.any(Number) },
    });
    const text = (await run('inspect', join(root, 'model'))).out;
    expect(text).toMatch(/architecture +llama: 2 layers of 32, 4\/2 heads of 16/);
    expect(text).toMatch(/model\.norm\.weight +F32 +32 +128 B/);
  });

  it('ends with the exit code of the error, and says which option is wrong', async () => {
    expect((await run('inspect', join(root, 'absent'))).code).toBe(4);
    const bad = await run('export', join(root, 'model'), '--to', join(root, 'x'), '--dtype', 'q4');
    expect([bad.code, bad.errors]).toEqual([
      64,
      expect.stringContaining('--dtype q4, expected one of f32, bf16, f16'),
    ]);
    const size = await run('export', join(root, 'model'), '--to', join(root, 'x'), '--max-shard-size', 'big');
    expect([size.code, size.errors]).toEqual([64, expect.stringContaining('--max-shard-size big')]);
    const used = await run('export', join(root, 'model'), '--to', join(root, 'model'));
    expect([used.code, used.errors]).toEqual([64, expect.stringContaining('is not empty')]);
  });
});
