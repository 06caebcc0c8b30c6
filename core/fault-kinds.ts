/** The kinds of faults that a run can meet. */

/** Each kind with what it means, for a reader who does not know the machinery. */
export const faultKinds = {
  'worker-killed': 'a worker process ended without a word; its work was given to another',
  'engine-killed': 'an engine process ended; another was started with the same weights',
  'engine-hung':
    'an engine process showed no progress and was killed; another was started with the same weights',
  'heartbeat-timeout': 'a worker that lived sent no heartbeat in time; its work was given to another',
  'server-away': 'the Temporal server did not answer; workers waited and went on',
  'store-error': 'the store could not be read or written; the attempt was repeated',
  'environment-error': 'an environment failed; the step was repeated',
  'activity-error': 'an attempt ended with another error',
  'hand-back': 'a worker that was told to stop gave its work back',
} as const;
export type FaultKind = keyof typeof faultKinds;
