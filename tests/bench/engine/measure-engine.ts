/** The engine's figures: makes each measurement in a process of its own, with the environment of an engine's process. */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { engineEnvironment } from '../../../gpu/embedded/engine-child.ts';
import type { BenchResult } from '../bench-result.ts';
import { bars, worse, type Figure, type FigureName } from './figure.ts';
import { measurements, type Measurement } from './measurements.ts';

/**
 * @param only Figures to measure; all when empty.
 * @param onProgress Told of each measurement as it begins.
 */
export async function measureEngine(
  only: readonly FigureName[],
  onProgress: (line: string) => void,
): Promise<BenchResult> {
  const chosen = measurements.filter(
    ({ figures }) => only.length === 0 || figures.some((figure) => only.includes(figure)),
  );
  const measured = new Map<FigureName, Figure>();
  for (const [index, measurement] of chosen.entries()) {
    onProgress(`${index + 1}/${chosen.length}: ${measurement.name}`);
    for (const figure of await inNewProcess(measurement)) {
      const other = measured.get(figure.name);
      measured.set(figure.name, other ? worse(other, figure) : figure);
    }
  }
  const figures = [...measured.values()];
  return {
    figures: Object.fromEntries(figures.map(({ name, value }) => [name, value])),
    bars: Object.fromEntries(figures.map(({ name }) => [name, bars[name]])),
    details: Object.fromEntries(figures.map(({ name, value: _, ...detail }) => [name, detail])),
    notes: [],
  };
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
