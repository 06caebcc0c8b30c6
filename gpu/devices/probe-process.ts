/** The entry of a probe's process: tries the device named by its first argument, as deep as the second says, and reports. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { DeviceName } from '../../core/devices.ts';
import { Session, tensor } from '../embedded/session.ts';
import { Graph } from '../graph/graph.ts';
import { add } from '../graph/ops.ts';
import type { ProbeDepth, ProbeMessage } from './probe-protocol.ts';
import { trainingDifference } from './training-difference.ts';

const [device, depth] = process.argv.slice(2) as [DeviceName, ProbeDepth];

function send(message: ProbeMessage): void {
  process.send!(message);
}

function computeOneNumber(): void {
  const graph = new Graph('probe');
  graph.output('y', add(graph.input('x', [1]), 1));
  const y = Float32Array.of(0);
  const session = new Session(graph, { threads: 1, device });
  session.run({ x: tensor(Float32Array.of(1), [1]) }, { y: tensor(y, [1]) });
  session.close();
  if (y[0] !== 2) throw new Error(`1 + 1 gave ${y[0]}`);
}

/** The Vulkan driver among the libraries that this process has loaded (Linux). */
function loadedDriver(): string | null {
  if (process.platform !== 'linux') return null;
  const libraries = readFileSync('/proc/self/maps', 'utf8').matchAll(/\/\S+\.so\S*/g);
  const names = Array.from(libraries, ([file]) => path.basename(file));
  return names.find((name) => /^lib(vk_|vulkan_|GLX_nvidia)/.test(name)) ?? null;
}

try {
  computeOneNumber();
  send({ type: 'opened', adapter: device === 'webgpu' ? loadedDriver() : null });
  if (depth === 'train') send({ type: 'trained', difference: trainingDifference(device) });
} catch (error) {
  send({ type: 'refused', message: error instanceof Error ? error.message : String(error) });
}
process.disconnect();
