/**
 * The commit log is a chain: entries 0..head without a gap, each naming its parent's weights, each the one recorded update
 * of its iteration, or the policy of an earlier entry.
 *
 * An entry is a double step when it is not exactly one optimizer update on top of its parent, that is when
 * - an earlier entry committed the same iteration (or warm-start chunk), or
 * - its weights or optimizer step are not those of the candidate recorded for its iteration, or
 * - it was applied and the optimizer step did not grow (from 0 where a phase begins, since moments belong to a phase), or
 * - it was not applied and yet the weights, the moments or the optimizer step changed.
 * So is a rollback that is not exactly the policy that it names.
 */
import { candidateSchema, type Candidate } from '../core/contracts.ts';
import { keys } from '../core/ids.ts';
import { policyOf } from '../core/policy.ts';
import type { LogEntry } from '../core/records.ts';
import type { Store } from './store.ts';

export interface LogAudit {
  /** The entries that could be read, ascending. */
  entries: LogEntry[];
  doubleSteps: number;
  problems: string[];
}

export async function auditLog(store: Store, run: string): Promise<LogAudit> {
  const { entries, problems } = await readEntries(store, run);
  problems.push(...chainProblems(entries));
  let doubleSteps = 0;
  const committed = new Map<string, number>();
  for (const [i, entry] of entries.entries()) {
    const found =
      entry.kind === 'rollback'
        ? rollbackProblems(entry, entries.slice(0, i))
        : await stepProblems(store, entry, entries[i - 1], committed);
    if (found.length > 0) doubleSteps += 1;
    problems.push(...found.map((problem) => `version ${entry.version}: ${problem}`));
  }
  return { entries, doubleSteps, problems };
}

async function readEntries(store: Store, run: string): Promise<{ entries: LogEntry[]; problems: string[] }> {
  const entries: LogEntry[] = [];
  const problems: string[] = [];
  const last = await lastVersion(store, run, problems);
  if (last === undefined) problems.push(`run ${run} has no log in ${store.location}`);
  for (let version = 0; last !== undefined && version <= last; version++) {
    try {
      const entry = await store.entry(run, version);
      if (entry !== undefined) entries.push(entry);
      else problems.push(`version ${version}: the log entry is missing`);
    } catch (error) {
      problems.push(`version ${version}: ${String(error)}`);
    }
  }
  return { entries, problems };
}

/** The head's version; when the head itself is damaged, the version before the first that is not there. */
async function lastVersion(store: Store, run: string, problems: string[]): Promise<number | undefined> {
  try {
    return (await store.head(run))?.version;
  } catch (error) {
    problems.push(`head: ${String(error)}`);
  }
  for (let version = 0; ; version++) {
    const present = await store.entry(run, version).catch(() => 'damaged' as const);
    if (present === undefined) return version === 0 ? undefined : version - 1;
  }
}

function chainProblems(entries: readonly LogEntry[]): string[] {
  const problems: string[] = [];
  for (const [i, entry] of entries.entries()) {
    const parent = entries[i - 1];
    const where = `version ${entry.version}`;
    if ((entry.version === 0) !== (entry.kind === 'initial'))
      problems.push(`${where}: it is of kind ${entry.kind}`);
    if (entry.version === 0 && entry.parent !== null)
      problems.push(`${where}: it has a parent, ${entry.parent}`);
    if (parent?.version === entry.version - 1 && entry.parent !== parent.weights.hash) {
      problems.push(
        `${where}: its parent is ${entry.parent}, expected version ${parent.version}'s ${parent.weights.hash}`,
      );
    }
    const expected = expectedIteration(entry, entries.slice(0, i));
    if (entry.iteration !== expected)
      problems.push(`${where}: it is ${entry.kind} ${entry.iteration}, expected ${expected}`);
  }
  return problems;
}

/** The number after the last of its kind; a rollback stands for no iteration of its own. */
function expectedIteration({ kind }: LogEntry, before: readonly LogEntry[]): number {
  if (kind === 'initial') return 0;
  const counted = kind === 'rollback' ? 'reinforcement' : kind;
  const last = before.findLast((entry) => entry.kind === counted)?.iteration ?? 0;
  return kind === 'rollback' ? last : last + 1;
}

function rollbackProblems(entry: LogEntry, before: readonly LogEntry[]): string[] {
  const target = before.find(({ version }) => version === entry.restores);
  if (target === undefined) return [`it goes back to version ${entry.restores}, which is not before it`];
  return samePolicy(entry, policyOf(target, 'reinforcement'))
    ? []
    : [`it goes back to version ${target.version}, yet it is not the same policy`];
}

async function stepProblems(
  store: Store,
  entry: LogEntry,
  parent: LogEntry | undefined,
  committed: Map<string, number>,
): Promise<string[]> {
  if (entry.kind === 'initial') return [];
  const problems: string[] = [];
  const name = `${entry.kind} ${entry.iteration}`;
  const earlier = committed.get(name);
  if (earlier !== undefined) problems.push(`${name} was committed before, as version ${earlier}`);
  else committed.set(name, entry.version);

  if (entry.update !== 'no-signal') problems.push(...(await candidateProblems(store, entry)));
  if (parent?.version !== entry.version - 1) return problems;
  const base = policyOf(parent, entry.kind);
  if (entry.update === 'applied') {
    if (entry.optimizerStep <= base.optimizerStep) {
      const expected = `expected more than ${base.optimizerStep}`;
      problems.push(`an update was applied and the optimizer step is ${entry.optimizerStep}, ${expected}`);
    }
  } else if (!samePolicy(entry, base)) {
    problems.push(`its update is "${entry.update}", yet it is not the same policy as its parent`);
  }
  return problems;
}

async function candidateProblems(store: Store, entry: LogEntry): Promise<string[]> {
  const { kind, iteration, version } = entry;
  const key = kind === 'warm-start' ? keys.warmStart(iteration) : keys.candidate(iteration, version);
  let candidate: Candidate;
  try {
    const recorded = await store.findResult(entry.run, key);
    if (recorded === undefined) return [`no candidate is recorded under ${key}`];
    candidate = candidateSchema.parse(recorded.value);
  } catch (error) {
    return [`its candidate cannot be read: ${String(error)}`];
  }
  if (samePolicy(candidate, entry)) return [];
  return [
    `it holds ${entry.weights.hash} at optimizer step ${entry.optimizerStep}, but the candidate ${key} is ` +
      `${candidate.weights.hash} at ${candidate.optimizerStep}`,
  ];
}

type PolicyState = Pick<LogEntry, 'weights' | 'optimizer' | 'optimizerStep'>;

function samePolicy(a: PolicyState, b: PolicyState): boolean {
  return (
    a.weights.hash === b.weights.hash &&
    a.optimizer?.hash === b.optimizer?.hash &&
    a.optimizerStep === b.optimizerStep
  );
}
