/**
 * An environment answers a policy's responses. It keeps no state between calls: everything it needs is the task and the
 * responses so far, so a step can be repeated anywhere and gives the same reply.
 */
import type { Task } from '../../core/records.ts';
import type { EnvironmentReply } from './environment-reply.ts';

export interface Environment {
  /** The text of the first model call. */
  open(task: Task): string;
  /** The reply to the last of `responses`; `truncated` tells that it ran into the length limit. */
  step(task: Task, responses: readonly string[], truncated: boolean): EnvironmentReply;
}
