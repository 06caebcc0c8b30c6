/** The engine's figures: makes each measurement in a process of its own, with the environment of an engine's process. */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { engineEnvironment } from '../../../gpu/embedded/engine-child.ts';
import type { BenchResult } from '../bench-result.ts';
import { collectFigures, type Figure, type Measurement } from '../figure.ts';
import { bars, measurements } from './measurements.ts';

/** @param only Figures to measure; all when empty. */
export function measureEngine(
  only: readonly string[],
  onProgress: (line: string) => void,
): Promise<BenchResult> {
  return collectFigures({ measurements, bars }, only, inNewProcess, onProgress);
}

async function inNewProcess({ name }: Measurement): Promise<Figure[]> {
  const entry = fileURLToPath(new URL('./measuring-process.ts', import.meta.url));
  const child = fork(entry, [name], {
    env: engineEnvironment(),
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  return new Promise((resolve, reject) => {
    child.on('message', (figures: Figure[]) => resolve(figures));
    child.on('error', reject);
    child.on('exit', (code, signal) =>
      reject(new Error(`measurement "${name}" ended with ${signal ?? `code ${code}`} and no figures`)),
    );
  });
}
