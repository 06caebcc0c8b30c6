import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { requireSpace } from './disk-space.ts';

it('refuses a home on a disk with too little space, naming the folder that exists and both amounts', async () => {
  const home = path.join(tmpdir(), 'not', 'made', 'yet');
  await expect(requireSpace(home, 2 ** 70)).rejects.toMatchObject({
    kind: 'StoreError',
    message: expect.stringMatching(
      new RegExp(`disk of ${tmpdir()} is full: .* free, expected at least`),
    ) as string,
    hint: expect.stringContaining('--home') as string,
  });
  await requireSpace(home, 1);
});
