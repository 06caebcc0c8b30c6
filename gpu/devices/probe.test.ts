import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { tinyConfig } from '../../tests/fixtures/tiny-model.ts';
import { EmbeddedEngine } from '../embedded/engine.ts';
import { probeDevice } from './probe.ts';

const loader = fileURLToPath(new URL('../../tests/harness/typescript-loader.mjs', import.meta.url));
const execArgv = ['--import', loader];
const patience = 30_000;

/** Node options that run a line of JavaScript before the process's own program. */
const first = (script: string): string[] => ['--import', `data:text/javascript,${script}`];

const cudaIsHere = (await probeDevice('cuda', { depth: 'open', execArgv })).available;
const whenSkipped = cudaIsHere ? ' (skipped: CUDA works here)' : '';

describe('a probe', () => {
  it('finds the CPU', async () => {
    expect(await probeDevice('cpu', { depth: 'open', execArgv })).toEqual({
      device: 'cpu',
      available: true,
      adapter: null,
      reason: null,
      hint: null,
      difference: null,
    });
  });

  it(
    'compares a training step with the same on the CPU',
    async () => {
      expect(await probeDevice('cpu', { depth: 'train', execArgv })).toMatchObject({ difference: 0 });
    },
    patience,
  );

  it.runIf(process.platform === 'linux')('tells what the graphics library misses', async () => {
    const environment = { ...process.env, VK_ICD_FILENAMES: '/no/such/driver.json' };
    const report = await probeDevice('webgpu', { depth: 'open', execArgv, environment });
    expect(report).toMatchObject({ available: false, hint: expect.stringContaining('engine.device: cpu') });
    expect(report.reason).toMatch(/No supported adapters; (Couldn't load Vulkan|vkCreateInstance)/);
    expect(report.reason).not.toContain('onnxruntime_src');
  });

  it.skipIf(cudaIsHere)(
    `names the libraries that CUDA misses, and how to get them${whenSkipped}`,
    async () => {
      const report = await probeDevice('cuda', { depth: 'open', execArgv });
      expect(report.available).toBe(false);
      if (process.platform === 'linux')
        expect(report.reason).toMatch(/libonnxruntime_providers_cuda\.so not found$/);
      expect(report.hint).toContain('ONNXRUNTIME_NODE_INSTALL=cuda12');
    },
  );

  it('outlives a crash of its process', async () => {
    const report = await probeDevice('webgpu', {
      depth: 'open',
      execArgv: first("process.kill(process.pid,'SIGSEGV')"),
    });
    expect(report).toMatchObject({
      available: false,
      reason: 'opening it ended the process (signal SIGSEGV)',
    });
  });

  it('gives up on a process that does not answer', async () => {
    const report = await probeDevice('webgpu', {
      depth: 'open',
      execArgv: first('await new Promise((resolve)=>setTimeout(resolve,60000))'),
      timeoutMs: 300,
    });
    expect(report.reason).toBe('opening it ended the process (no answer in 0.3 s)');
  });
});

describe('an engine', () => {
  it.skipIf(cudaIsHere)(
    `refuses weights on a device that is not there, with the reason of the probe${whenSkipped}`,
    async () => {
      const engine = new EmbeddedEngine({ config: tinyConfig, device: 'cuda', threads: 1, slots: 2 });
      expect(await engine.describe()).toMatchObject({ device: 'cuda' });
      const { reason, hint } = await probeDevice('cuda', { depth: 'open', execArgv });
      await expect(engine.load({ tag: 'any', path: 'never read' })).rejects.toMatchObject({
        kind: 'EngineError',
        message: `engine.device is cuda: ${reason}`,
        hint,
        retryable: false,
      });
      await engine.close();
    },
  );
});
