/** Node, platform, memory, disk, and optional hardware and tools. */
import os from 'node:os';
import { runCommand } from '../../deploy/temporal/source.ts';
import { freeSpace } from '../disk-space.ts';
import { formatBytes } from '../render-plan.ts';
import { broken, info, ok, type Check, type Finding } from './check.ts';

const gibibyte = 2 ** 30;
/** A quickstart's server, workers, engine and store. */
const leastMemory = 3 * gibibyte;
const leastDisk = 2 * gibibyte;
const supportedPlatforms = ['linux-x64', 'linux-arm64', 'darwin-arm64'];

export const checkNode: Check = () => {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const recent = major > 20 || (major === 20 && minor >= 3);
  const finding = recent
    ? ok('Node', process.version)
    : broken(
        'Node',
        `${process.version}; 20.3 or newer is needed`,
        'Install a current Node, for instance with nvm.',
      );
  return Promise.resolve(finding);
};

export const checkPlatform: Check = () => Promise.resolve(judgePlatform(process.platform, process.arch));

/** Process groups and hard links as Linux and macOS have them; onnxruntime-node comes for no other processors there. */
export function judgePlatform(system: string, processor: string): Finding {
  const platform = `${system}-${processor}`;
  const detail = `${platform}, ${os.availableParallelism()} cores, ${os.cpus()[0]?.model ?? 'unknown processor'}`;
  if (supportedPlatforms.includes(platform)) return ok('platform', detail);
  const mend =
    system === 'win32'
      ? 'On Windows, use Linux inside WSL (https://learn.microsoft.com/windows/wsl): only Linux and macOS are supported.'
      : `Only Linux and macOS are supported: ${supportedPlatforms.join(', ')}.`;
  return broken('platform', detail, mend);
}

export const checkMemory: Check = () => {
  const total = os.totalmem();
  const finding =
    total >= leastMemory
      ? ok('memory', `${formatBytes(total)} in all, ${formatBytes(os.freemem())} free`)
      : broken('memory', formatBytes(total), `The quickstart needs ${formatBytes(leastMemory)}.`);
  return Promise.resolve(finding);
};

export async function checkDisk(home: string): Promise<Finding> {
  const { folder, free } = await freeSpace(home);
  return free >= leastDisk
    ? ok('disk', `${formatBytes(free)} free at ${folder}`)
    : broken(
        'disk',
        `${formatBytes(free)} free at ${folder}`,
        'Free some space, or choose another disk with --home.',
      );
}

export const checkDocker: Check = () =>
  optionalTool(
    'Docker',
    'docker',
    ['version', '--format', '{{.Server.Version}}'],
    'needed only for containers',
  );

export const checkGpu: Check = () =>
  optionalTool(
    'GPU',
    'nvidia-smi',
    ['--query-gpu=name,memory.total', '--format=csv,noheader'],
    'the embedded engine works on the CPU',
  );

async function optionalTool(
  name: string,
  command: string,
  args: string[],
  without: string,
): Promise<Finding> {
  const ran = await runCommand(command, args, { env: process.env, timeoutMs: 5000 });
  if ('output' in ran) return info(name, ran.output.trim().split('\n').join('; '));
  return info(name, `none: ${ran.reason}; ${without}`);
}
