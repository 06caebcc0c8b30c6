import { mkdir } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { RekindleError } from '../../core/errors.ts';
import { cannotWrite } from './export.ts';

it('tells an error of the file system in terms of the folder that was asked for, and leaves others alone', async () => {
  const fault: unknown = await mkdir('/dev/null/.policy-1234').catch((error: unknown) => error);
  expect(cannotWrite('/dev/null/policy', fault)).toMatchObject({
    kind: 'UsageError',
    message: expect.stringContaining('/dev/null/policy cannot be written: ENOTDIR') as string,
    hint: expect.stringContaining('--to') as string,
  });
  const known = new RekindleError('CorruptArtifactError', 'damaged artifact');
  expect(cannotWrite('/dev/null/policy', known)).toBe(known);
});
