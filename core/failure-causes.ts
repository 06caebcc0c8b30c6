/** What a failed attempt says, told by its cause and by what to do about it. */
export interface Failure {
  /** The cause of core/errors.ts, where it was thrown by us. */
  type: string | null;
  message: string;
}

const causes: { pattern: RegExp; cause: string; hint: string }[] = [
  {
    pattern: /ENOSPC|no space left/i,
    cause: 'a full store',
    hint: 'Make space on the disk of the store; the run then goes on by itself.',
  },
  {
    pattern: /EROFS|read-only file system|EACCES|EPERM|permission denied/i,
    cause: 'a store that cannot be written',
    hint: 'Let the workers write to the store; the run then goes on by itself.',
  },
  {
    pattern: /\b429\b|rate.?limit|too many requests|quota/i,
    cause: 'a rate limit',
    hint: 'The run goes on as fast as it is let; raise the limit, or have fewer calls in flight.',
  },
  {
    pattern: /heartbeat timeout/i,
    cause: 'a missed heartbeat',
    hint: 'Its worker died or hung; if it happens again and again, see .rekindle/logs and the load of the host.',
  },
  {
    pattern: /schedule-?to-?start/i,
    cause: 'no worker that took it in time',
    hint: 'The host that it was meant for is gone, or its workers are busy.',
  },
];

const hintsByType: Record<string, string> = {
  StoreError: 'See that the store can be read and written; the run then goes on by itself.',
  EngineError: 'See the output of the worker in .rekindle/logs; rekindle doctor checks the machine.',
  EnvironmentError: 'See the host of the environments and what its program says.',
};

export function explainFailure({ type, message }: Failure): { cause: string; hint: string } {
  const said = type === null || message.startsWith(type) ? message : `${type}: ${message}`;
  const known = causes.find(({ pattern }) => pattern.test(message));
  if (known !== undefined) return { cause: `${known.cause} (${said})`, hint: known.hint };
  const hint =
    hintsByType[type ?? ''] ?? 'It is tried again until it succeeds; see the output of its worker.';
  return { cause: said, hint };
}
