/** What interrupts a generation under way: newer weights, and the end of its time. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Scheduling } from '../../core/scheduling.ts';
import type { ActingPolicy } from '../weights/acting-policy.ts';
import type { PolicySampler } from './policy-sampler.ts';

/** Between two looks at the log for a newer version. */
const lookEveryMs = 500;

export interface InterruptionParts {
  newest(): Promise<ActingPolicy>;
  load(policy: ActingPolicy): Promise<void>;
  warn(message: string, error: unknown): void;
  /** Aborted when the generation is over, or is given up. */
  signal: AbortSignal;
}

/** Interrupts a sampler as the recipe says, until the signal is aborted. */
export function interrupting(
  sampler: Pick<PolicySampler, 'policy' | 'use' | 'end'>,
  { interrupt, stragglers }: Pick<Scheduling, 'interrupt' | 'stragglers'>,
  parts: InterruptionParts,
): void {
  if (interrupt) void followNewest(sampler, parts);
  if (stragglers === null) return;
  const timer = setTimeout(() => sampler.end(), stragglers.seconds * 1000);
  parts.signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
}

/** A newer version that cannot be loaded now is tried again; the older one goes on meanwhile. */
async function followNewest(
  sampler: Pick<PolicySampler, 'policy' | 'use'>,
  { newest, load, warn, signal }: InterruptionParts,
): Promise<void> {
  while (!signal.aborted) {
    await delay(lookEveryMs, undefined, { signal, ref: false }).catch(() => undefined);
    if (signal.aborted) return;
    try {
      const policy = await newest();
      if (policy.version <= sampler.policy.version) continue;
      await load(policy);
      sampler.use(policy);
    } catch (error) {
      warn('newer weights could not take over; the older ones go on', error);
    }
  }
}
