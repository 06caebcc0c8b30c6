/** The entry of a process that makes one measurement, named by its argument, and sends the figures to its parent. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { measurements } from './measurements.ts';

const measurement = measurements.find(({ name }) => name === process.argv[2]);
if (!measurement) throw new Error(`no measurement is called ${process.argv[2]}`);
const folder = await mkdtemp(join(tmpdir(), 'rekindle-bench-'));
try {
  const figures = await measurement.measure(folder);
  process.send!(figures, () => process.exit(0));
} finally {
  await rm(folder, { recursive: true });
}
