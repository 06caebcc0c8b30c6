/** One look at the machine. A check never throws: whatever goes wrong is its finding. */
export interface Finding {
  name: string;
  /** `info` is neither good nor bad: an optional thing that is there or not. */
  verdict: 'ok' | 'broken' | 'info';
  detail: string;
  /** How to mend what is broken. */
  mend: string | null;
}

export type Check = () => Promise<Finding>;

export const ok = (name: string, detail: string): Finding => ({ name, verdict: 'ok', detail, mend: null });
export const info = (name: string, detail: string): Finding => ({
  name,
  verdict: 'info',
  detail,
  mend: null,
});
export const broken = (name: string, detail: string, mend: string): Finding => ({
  name,
  verdict: 'broken',
  detail,
  mend,
});
