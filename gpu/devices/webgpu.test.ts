import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { softwareAdapterEnvironment } from '../../tests/fixtures/software-adapter.ts';
import type { WebGpuParity } from '../../tests/fixtures/webgpu-parity.ts';
import { probeDevice } from './probe.ts';

const loader = fileURLToPath(new URL('../../tests/harness/typescript-loader.mjs', import.meta.url));
const script = fileURLToPath(new URL('../../tests/fixtures/webgpu-parity.ts', import.meta.url));
const execArgv = ['--import', loader];
const patience = 120_000;

/** This machine's own adapter if there is one, else a software adapter. */
async function findAdapter(): Promise<{ environment: NodeJS.ProcessEnv } | { reason: string }> {
  const own = await probeDevice('webgpu', { depth: 'open', execArgv });
  if (own.available) return { environment: process.env };
  const environment = softwareAdapterEnvironment();
  if (environment === null) return { reason: `${own.reason}; no software adapter is installed` };
  const software = await probeDevice('webgpu', { depth: 'open', execArgv, environment });
  return software.available ? { environment } : { reason: software.reason! };
}

const found = await findAdapter();
const title = 'reason' in found ? `WebGPU (skipped: ${found.reason})` : 'WebGPU';

describe.skipIf('reason' in found)(title, () => {
  const environment = 'environment' in found ? found.environment : {};

  it(
    'trains, scores and generates as the CPU does, without growing',
    async () => {
      const child = fork(script, [], { env: environment, execArgv });
      const [parity] = (await once(child, 'message')) as [WebGpuParity];
      expect(parity.gradients).toBeLessThanOrEqual(1e-5);
      expect(parity.weights).toBeLessThanOrEqual(1e-5);
      expect(parity.secondMoments).toBeLessThanOrEqual(1e-5);
      expect(parity.gradientNorm).toBeLessThanOrEqual(1e-5);
      expect(parity.scoredLogprobs).toBeLessThanOrEqual(1e-5);
      expect(parity.generatedLogprobs).toBeLessThanOrEqual(1e-5);
      expect(parity.sameTokens).toBe(true);
      expect(parity.growth).toBeLessThanOrEqual(10);
    },
    patience,
  );
});
