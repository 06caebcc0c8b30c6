import { existsSync } from 'node:fs';
import { cachedPath } from '../cache.ts';
import { checkProgram, type Source } from '../source.ts';
import { goInstallableVersion, pinnedVersion } from '../versions.ts';

/** A copy that an earlier start has put into the cache, where its checksum was verified. */
export const cachedCopy: Source = {
  name: 'cached copy',
  async find(context) {
    const files = [pinnedVersion, goInstallableVersion].map((version) => cachedPath(context, version));
    const file = files.find((candidate) => existsSync(candidate));
    return file
      ? checkProgram(file, this.name, context.env)
      : { reason: `none in ${context.cacheFolder} (version ${pinnedVersion} or ${goInstallableVersion})` };
  },
};
