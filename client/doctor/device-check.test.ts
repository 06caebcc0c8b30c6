import { expect, it } from 'vitest';
import { judgeDevice } from './device-check.ts';

const found = { available: true, adapter: 'libvulkan_radeon.so', reason: null, hint: null };

it('takes a device that computes what the CPU does as good', () => {
  const finding = judgeDevice({ ...found, device: 'webgpu', difference: 2.4e-7 });
  expect(finding).toMatchObject({ name: 'device webgpu', verdict: 'ok' });
  expect(finding.detail).toBe(
    "libvulkan_radeon.so; a tiny training step differs from the CPU's by 2e-7, relative",
  );
});

it.each([1e-3, NaN])('takes a device whose training step is off by %s as broken', (difference) => {
  expect(judgeDevice({ ...found, device: 'webgpu', difference }).verdict).toBe('broken');
});

it('tells why a device is not there, and takes that for nothing broken', () => {
  const finding = judgeDevice({
    device: 'cuda',
    available: false,
    adapter: null,
    reason: 'libonnxruntime_providers_cuda.so not found',
    hint: 'Install it.',
    difference: null,
  });
  expect(finding).toEqual({
    name: 'device cuda',
    verdict: 'info',
    detail: 'not available: libonnxruntime_providers_cuda.so not found. Install it.',
    mend: null,
  });
});
