/** Every artifact that a run's log or results name is there, and each of its bytes is what its hash says. */
import { isCause } from '../core/errors.ts';
import type { LogEntry } from '../core/records.ts';
import { refSchema, type Ref } from '../core/refs.ts';
import type { Store } from './store.ts';

export interface ArtifactsAudit {
  checked: number;
  missing: number;
  corrupt: number;
  problems: string[];
}

export async function auditArtifacts(
  store: Store,
  run: string,
  entries: readonly LogEntry[],
): Promise<ArtifactsAudit> {
  const audit: ArtifactsAudit = { checked: 0, missing: 0, corrupt: 0, problems: [] };
  const named = new Map<string, { ref: Ref; by: string }>();
  const note = (value: unknown, by: string) => {
    for (const ref of refsIn(value)) if (!named.has(ref.hash)) named.set(ref.hash, { ref, by });
  };
  for (const entry of entries) note(entry, `log entry ${entry.version}`);
  for (const key of await store.listResults(run, '')) {
    try {
      note((await store.findResult(run, key))?.value, `result ${key}`);
    } catch (error) {
      audit.problems.push(String(error));
    }
  }
  for (const { ref, by } of named.values()) {
    audit.checked += 1;
    try {
      await store.check(ref);
    } catch (error) {
      if (isCause(error, 'CorruptArtifactError')) audit.corrupt += 1;
      else audit.missing += 1;
      audit.problems.push(`named by ${by}: ${String(error)}`);
    }
  }
  return audit;
}

/** Refs anywhere in a JSON value. */
function* refsIn(value: unknown): Generator<Ref> {
  if (typeof value !== 'object' || value === null) return;
  const ref = refSchema.safeParse(value);
  if (ref.success) yield ref.data;
  else for (const part of Object.values(value)) yield* refsIn(part);
}
