/** What came of a run that a fault was made in. */
import type { Verification } from '../../store/verify.ts';

export interface Outcome {
  fault: string;
  run: string;
  /** How the fault was seen to happen; null when it did not. */
  witness: string | null;
  /** The weights are the very bytes of the undisturbed run. */
  weightsEqual: boolean;
  verification: Verification;
}

export function passed({ witness, weightsEqual, verification }: Outcome): boolean {
  return witness !== null && weightsEqual && verification.ok;
}
