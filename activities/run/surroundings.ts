/** What a run was made on, for the reader of its folder; no decision depends on it. */
import { arch, cpus, platform, totalmem } from 'node:os';

export interface Surroundings {
  node: string;
  platform: string;
  cpu: string;
  cores: number;
  memoryBytes: number;
}

export function describeSurroundings(): Surroundings {
  return {
    node: process.version,
    platform: `${platform()} ${arch()}`,
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    memoryBytes: totalmem(),
  };
}
