import { expect, it } from 'vitest';
import { judgePlatform } from './machine-checks.ts';

it('accepts Linux and macOS', () => {
  expect(judgePlatform('linux', 'x64').verdict).toBe('ok');
  expect(judgePlatform('darwin', 'arm64').verdict).toBe('ok');
});

it('sends Windows to WSL, and says of any other platform which ones are supported', () => {
  expect(judgePlatform('win32', 'x64')).toMatchObject({
    verdict: 'broken',
    mend: expect.stringMatching(/WSL[^]*only Linux and macOS/) as string,
  });
  expect(judgePlatform('freebsd', 'x64')).toMatchObject({
    verdict: 'broken',
    mend: expect.stringContaining('Only Linux and macOS') as string,
  });
});
