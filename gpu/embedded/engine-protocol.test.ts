import { describe, expect, it } from 'vitest';
import { RekindleError } from '../../core/errors.ts';
import { fromSentError, toSentError } from './engine-protocol.ts';

const travelled = (error: unknown): RekindleError => fromSentError(toSentError(error));

describe('an error that comes from the engine process', () => {
  it('keeps cause, message and hint, and whether a retry can help', () => {
    for (const permanent of [true, false]) {
      const error = new RekindleError('StoreError', 'disk full', { hint: 'Free some space.', permanent });
      expect(travelled(error)).toMatchObject({
        kind: 'StoreError',
        message: 'disk full',
        hint: 'Free some space.',
        retryable: !permanent,
      });
    }
  });

  it('is not retried when only a mistake in the program can be its reason', () => {
    expect(travelled(new TypeError('x is not a function'))).toMatchObject({
      kind: 'EngineError',
      retryable: false,
    });
  });

  it('is retried when its reason may pass', () => {
    for (const error of [new Error('EIO'), new RangeError('Array buffer allocation failed')])
      expect(travelled(error)).toMatchObject({ kind: 'EngineError', retryable: true });
  });
});
