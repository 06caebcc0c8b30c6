/** The entry of a process that makes one measurement, named by its argument, and sends the figures to its parent. */
import { withScratchFolder } from '../with-scratch-folder.ts';
import { measurements } from './measurements.ts';

const measurement = measurements.find(({ name }) => name === process.argv[2]);
if (!measurement) throw new Error(`no measurement is called ${process.argv[2]}`);
const figures = await withScratchFolder(measurement.measure);
process.send!(figures, () => process.exit(0));
