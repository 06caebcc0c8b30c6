/**
 * What a verifier is: a pure judgement of one response against one task, a number from 0 to 1. It reads the response alone,
 * never the prompt, so nothing that the task says can be counted as said by the policy.
 */
import type { Task } from '../records.ts';

export type Verifier = (response: string, task: Task) => number;
