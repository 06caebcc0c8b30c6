/** All checks of `doctor`, in the order in which a person would mend things. */
import { storeOf } from '../local-runs.ts';
import { broken, ok, type Check, type Finding } from './check.ts';
import { checkDevice } from './device-check.ts';
import { checkEngine } from './engine-check.ts';
import { checkDisk, checkDocker, checkGpu, checkMemory, checkNode, checkPlatform } from './machine-checks.ts';
import { checkPorts, checkTemporalProgram } from './temporal-checks.ts';

export async function examine(home: string, temporalPort: number): Promise<Finding[]> {
  const checks: [string, Check][] = [
    ['Node', checkNode],
    ['platform', checkPlatform],
    ['memory', checkMemory],
    ['disk', () => checkDisk(home)],
    ['store', () => checkStore(home)],
    ['engine (onnxruntime)', checkEngine],
    ['Temporal CLI', checkTemporalProgram],
    ['ports', () => checkPorts(home, temporalPort)],
    ['Docker', checkDocker],
    ['GPU', checkGpu],
    ['device webgpu', () => checkDevice('webgpu')],
    ['device cuda', () => checkDevice('cuda')],
  ];
  const findings: Finding[] = [];
  for (const [name, check] of checks) {
    findings.push(await check().catch((error: unknown) => unforeseen(name, error)));
  }
  return findings;
}

async function checkStore(home: string): Promise<Finding> {
  const store = storeOf(home);
  try {
    await store.probe();
    return ok('store', `${store.location} can be written`);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return broken('store', message, 'Choose a folder on a disk with space that you may write to: --home.');
  }
}

function unforeseen(name: string, error: unknown): Finding {
  return broken(
    name,
    error instanceof Error ? error.message : String(error),
    'This check itself failed; see the message.',
  );
}
