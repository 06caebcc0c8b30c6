/** A repository of the hub at a revision. */
import { RekindleError } from '../../core/errors.ts';

export interface HubRepository {
  type: 'model' | 'dataset';
  /** `<owner>/<name>` */
  name: string;
  /** A branch, a tag or a commit. */
  revision: string;
}

/** An error of the kind that the repository's content has: of data or of a model. */
export function hubError(
  { type }: HubRepository,
  message: string,
  options: { hint?: string; cause?: unknown } = {},
): RekindleError {
  return new RekindleError(type === 'model' ? 'ModelError' : 'DataError', message, options);
}

export function describeRepository({ type, name, revision }: HubRepository): string {
  return `${type === 'model' ? 'model' : 'data set'} ${name} at ${revision}`;
}
