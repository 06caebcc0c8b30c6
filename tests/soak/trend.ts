/** Whether a process grows. */
import { median } from '../bench/statistics.ts';

export interface Sample {
  /** Since the start. */
  seconds: number;
  residentMegabytes: number;
  threads: number;
}

export interface Trend {
  /** Medians over the first and the last quarter of the samples. */
  firstMegabytes: number;
  lastMegabytes: number;
  /** Slope of the least-squares line. */
  megabytesPerHour: number;
  /** Most threads in the last quarter less most threads in the first. */
  threadGrowth: number;
}

/** @param samples At least four, in order. */
export function trend(samples: readonly Sample[]): Trend {
  const quarter = Math.floor(samples.length / 4);
  const [first, last] = [samples.slice(0, quarter), samples.slice(-quarter)];
  const megabytes = (part: readonly Sample[]): number =>
    median(part.map((sample) => sample.residentMegabytes));
  const threads = (part: readonly Sample[]): number => Math.max(...part.map((sample) => sample.threads));
  return {
    firstMegabytes: megabytes(first),
    lastMegabytes: megabytes(last),
    megabytesPerHour: 3600 * slope(samples),
    threadGrowth: threads(last) - threads(first),
  };
}

function slope(samples: readonly Sample[]): number {
  const mean = (of: (sample: Sample) => number): number =>
    samples.reduce((sum, sample) => sum + of(sample), 0) / samples.length;
  const [meanSeconds, meanMegabytes] = [mean((s) => s.seconds), mean((s) => s.residentMegabytes)];
  const covariance = mean((s) => (s.seconds - meanSeconds) * (s.residentMegabytes - meanMegabytes));
  return covariance / mean((s) => (s.seconds - meanSeconds) ** 2);
}
