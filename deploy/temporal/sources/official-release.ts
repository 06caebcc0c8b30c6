import { createWriteStream } from 'node:fs';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { adoptProgram, withScratchFolder } from '../cache.ts';
import { runCommand, type Source } from '../source.ts';
import { pinnedVersion } from '../versions.ts';

const releases = 'https://github.com/temporalio/cli/releases/download';

/** Behind a firewall a connection attempt may hang: the other sources should get their turn soon. */
const answerWithinMs = 8_000;
const finishWithinMs = 300_000;

const archiveNames: Readonly<Record<string, string>> = {
  'linux-x64': 'linux_amd64',
  'linux-arm64': 'linux_arm64',
  'darwin-x64': 'darwin_amd64',
  'darwin-arm64': 'darwin_arm64',
};

/** The archive that Temporal publishes, from `<baseUrl>/v<version>/temporal_cli_<version>_<platform>.tar.gz`. */
export function officialRelease(baseUrl: string = releases): Source {
  return {
    name: 'official release',
    find(context) {
      const platform = archiveNames[context.platform];
      if (!platform) return Promise.resolve({ reason: `no release for ${context.platform}` });
      const url = `${baseUrl}/v${pinnedVersion}/temporal_cli_${pinnedVersion}_${platform}.tar.gz`;
      return withScratchFolder(context, async (folder) => {
        context.say(`downloading ${url} (about 45 MB)`);
        const archive = path.join(folder, 'temporal.tar.gz');
        const problem = await download(url, archive);
        if (problem) return { reason: problem };
        const unpacked = await runCommand('tar', ['-xzf', archive, '-C', folder, 'temporal'], {
          env: context.env,
          timeoutMs: 60_000,
        });
        if ('reason' in unpacked) return unpacked;
        return adoptProgram(context, path.join(folder, 'temporal'), pinnedVersion, this.name);
      });
    },
  };
}

/** Writes what a URL answers to a file; returns what went wrong, if anything did. */
async function download(url: string, file: string): Promise<string | undefined> {
  const abort = new AbortController();
  const patience = setTimeout(() => abort.abort(), answerWithinMs);
  try {
    const response = await fetch(url, {
      signal: AbortSignal.any([abort.signal, AbortSignal.timeout(finishWithinMs)]),
    });
    clearTimeout(patience);
    if (!response.ok || !response.body) return `${url} answered ${response.status}`;
    await pipeline(Readable.fromWeb(response.body), createWriteStream(file));
    return undefined;
  } catch (error) {
    if (abort.signal.aborted) return `${new URL(url).host} did not answer within ${answerWithinMs / 1000} s`;
    const cause = (error as Error).cause;
    return `download failed: ${cause instanceof Error ? cause.message : (error as Error).message}`;
  } finally {
    clearTimeout(patience);
  }
}
