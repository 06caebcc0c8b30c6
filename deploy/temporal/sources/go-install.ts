import path from 'node:path';
import { adoptProgram, withScratchFolder } from '../cache.ts';
import { runCommand, type Source } from '../source.ts';
import { goInstallableVersion } from '../versions.ts';

/** Built from source; the module's own go.sum fixes what goes into it. */
export const goInstall: Source = {
  name: 'go install',
  async find(context) {
    const present = await runCommand('go', ['version'], { env: context.env, timeoutMs: 20_000 });
    if ('reason' in present) return present;
    return withScratchFolder(context, async (folder) => {
      const module = `github.com/temporalio/cli/cmd/temporal@v${goInstallableVersion}`;
      context.say(`go install ${module} (several minutes)`);
      const built = await runCommand('go', ['install', module], {
        env: { ...context.env, CGO_ENABLED: '0', GOBIN: folder },
        timeoutMs: 1_200_000,
      });
      if ('reason' in built) return built;
      return adoptProgram(context, path.join(folder, 'temporal'), goInstallableVersion, this.name);
    });
  },
};
