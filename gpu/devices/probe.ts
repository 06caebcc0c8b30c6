/**
 * Whether the engine can compute on a device, found by trying in a process of its own: a driver that crashes takes only that
 * process with it.
 */
import { fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DeviceName } from '../../core/devices.ts';
import type { DeviceReport } from './device-report.ts';
import type { ProbeDepth, ProbeMessage } from './probe-protocol.ts';

export interface ProbeOptions {
  depth: ProbeDepth;
  /** Default: that of this process. */
  environment?: NodeJS.ProcessEnv;
  /** Node options of the process; by default those of this one. */
  execArgv?: string[];
  timeoutMs?: number;
}

const TIMEOUT_MS = 60_000;
const CUDA_LIBRARIES = ['libonnxruntime_providers_shared.so', 'libonnxruntime_providers_cuda.so'];

const hints: Record<DeviceName, string> = {
  cpu: 'Install the packages again: npm ci.',
  webgpu:
    'Install a Vulkan driver for this GPU (on Linux also libvulkan1; in a container the graphics capability), or use engine.device: cpu.',
  cuda: 'On Linux x64 with CUDA 12 and cuDNN 9, run `ONNXRUNTIME_NODE_INSTALL=cuda12 node node_modules/onnxruntime-node/script/install.js`, or use engine.device: cpu.',
};

/** Tries a device. Never rejects: whatever goes wrong is in the report. */
export async function probeDevice(device: DeviceName, options: ProbeOptions): Promise<DeviceReport> {
  const missing = device === 'cuda' ? missingCudaLibraries() : [];
  if (missing.length > 0) return unavailable(device, `${missing.join(' and ')} not found`);
  const { messages, warnings, end } = await runProbe(device, options);
  const report: DeviceReport = {
    device,
    available: true,
    adapter: null,
    reason: null,
    hint: null,
    difference: null,
  };
  for (const message of messages) {
    if (message.type === 'opened') report.adapter = message.adapter;
    if (message.type === 'trained') report.difference = message.difference;
    if (message.type === 'refused')
      return unavailable(device, [plain(message.message), ...warnings].join('; '));
  }
  const last = messages.at(-1)?.type;
  if (last !== (options.depth === 'open' ? 'opened' : 'trained')) {
    const stage = last === undefined ? 'opening it' : 'a tiny training step';
    return unavailable(device, [`${stage} ended the process (${end})`, ...warnings].join('; '));
  }
  return report;
}

function unavailable(device: DeviceName, reason: string): DeviceReport {
  return { device, available: false, adapter: null, reason, hint: hints[device], difference: null };
}

/** The provider's libraries that do not stand beside the runtime's own. */
function missingCudaLibraries(): string[] {
  const runtime = createRequire(import.meta.url).resolve('onnxruntime-node/package.json');
  const folder = path.join(path.dirname(runtime), 'bin', 'napi-v6', process.platform, process.arch);
  return CUDA_LIBRARIES.map((name) => path.join(folder, name)).filter((file) => !existsSync(file));
}

interface ProbeOutcome {
  messages: ProbeMessage[];
  /** What the graphics library complained of. */
  warnings: string[];
  /** How the process ended. */
  end: string;
}

function runProbe(device: DeviceName, options: ProbeOptions): Promise<ProbeOutcome> {
  const { depth, environment = process.env, execArgv = process.execArgv, timeoutMs = TIMEOUT_MS } = options;
  const entry = new URL(`./probe-process${path.extname(import.meta.url)}`, import.meta.url);
  const child = fork(fileURLToPath(entry), [device, depth], {
    env: environment,
    execArgv,
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  const messages: ProbeMessage[] = [];
  let errors = '';
  let timedOut = false;
  child.on('message', (message: ProbeMessage) => messages.push(message));
  child.stderr!.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const timer = setTimeout(() => {
    timedOut = true;
    child.kill('SIGKILL');
  }, timeoutMs);
  return new Promise((resolve) => {
    const finish = (end: string): void => {
      clearTimeout(timer);
      resolve({
        messages,
        warnings: warningsIn(errors),
        end: timedOut ? `no answer in ${timeoutMs / 1000} s` : end,
      });
    };
    child.on('error', (error) => finish(error.message));
    child.on('close', (code, signal) => finish(signal === null ? `code ${code}` : `signal ${signal}`));
  });
}

function warningsIn(errors: string): string[] {
  return [...new Set(Array.from(errors.matchAll(/^Warning: (.*)$/gm), ([, text]) => text!.trim()))];
}

/** The runtime's message without the place in its source that it begins with. */
function plain(message: string): string {
  return message
    .replace(/^onnxruntime, graph "\w+": /, '')
    .replace(/^\S+:\d+ .* was false\. /s, '')
    .trim();
}
