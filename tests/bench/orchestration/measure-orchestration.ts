/** What the loop costs beyond the engines: figures of runs whose engines take as long as they are told to. */
import type { Bar, BenchResult } from '../bench-result.ts';
import { collectFigures, type Measurement } from '../figure.ts';
import { measureEpisodes } from './episodes.ts';
import { measureLargeIteration } from './large-iteration.ts';
import { measureOverhead } from './overhead.ts';
import { measureReplay } from './replay.ts';

const bars: Record<string, Bar> = {
  overhead60s: { atMost: 0.005 },
  overhead5s: { atMost: 0.04 },
  events10k: { atMost: 2000 },
  seconds10k: { atMost: 10 },
  controlMemoryMB: { atMost: 600 },
  replaySeconds500: { atMost: 2 },
};

const measurements: Measurement[] = [
  {
    name: 'iterations of 5 seconds',
    figures: ['overhead5s'],
    measure: () => measureOverhead('overhead5s', 5, 8),
  },
  {
    name: 'iterations of 60 seconds',
    figures: ['overhead60s'],
    measure: () => measureOverhead('overhead60s', 60, 3),
  },
  { name: '10,000 trajectories', figures: ['events10k', 'seconds10k'], measure: measureLargeIteration },
  {
    name: '1,000 episodes of 5 turns',
    figures: ['episodesPerSecond', 'controlMemoryMB'],
    measure: measureEpisodes,
  },
  { name: '500 iterations', figures: ['replaySeconds500'], measure: measureReplay },
];

/** What `only` may name. */
export const orchestrationFigures = measurements.flatMap(({ figures }) => figures);

/** @param only Figures to measure; all when empty. */
export function measureOrchestration(
  only: readonly string[],
  onProgress: (line: string) => void,
): Promise<BenchResult> {
  return collectFigures({ measurements, bars }, only, ({ measure }) => measure(''), onProgress);
}
