/**
 * Claims on a local disk: `claims/<run>/<key>/<8-digit number>`, each created exclusively, so that no two have one number and the
 * highest tells who came last. They say who may write now; after a power failure nobody does, so they need not reach the disk.
 */
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { RekindleError } from '../../core/errors.ts';
import type { Store } from '../store.ts';
import { errorCode, guarded, unlessAbsent } from './faults.ts';
import type { Layout } from './layout.ts';

export function localClaims(layout: Layout): Pick<Store, 'claim'> {
  return {
    async claim(run, key) {
      const folder = layout.claims(run, key);
      const number = await guarded('claim', folder, () => takeNext(folder));
      return {
        async requireLast() {
          const last = await guarded('read claims of', folder, () => lastClaim(folder));
          if (last !== number) throw fenced(run, key, number, last);
        },
      };
    },
  };
}

async function takeNext(folder: string): Promise<number> {
  await mkdir(folder, { recursive: true });
  for (;;) {
    const number = (await lastClaim(folder)) + 1;
    try {
      await writeFile(join(folder, nameOf(number)), `${hostname()}:${process.pid}\n`, { flag: 'wx' });
      return number;
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw error;
    }
  }
}

/** 0 when there is none. */
async function lastClaim(folder: string): Promise<number> {
  const names = (await unlessAbsent(readdir(folder))) ?? [];
  return Math.max(0, ...names.filter((name) => /^\d{8}$/.test(name)).map(Number));
}

function nameOf(number: number): string {
  return String(number).padStart(8, '0');
}

function fenced(run: string, key: string, own: number, last: number): RekindleError {
  return new RekindleError(
    'FencedError',
    `run ${run}: ${key} was claimed by another attempt (number ${last}) after this one (number ${own})`,
    { hint: 'This attempt was taken for dead; the other one does its work, and nothing is lost.' },
  );
}
