import { RekindleError } from '../../core/errors.ts';

/** The number of an option. Throws UsageError that names the option, its text and what was expected. */
export function parseNumber(
  option: string,
  text: string,
  { least, most = Infinity, whole = false }: { least: number; most?: number; whole?: boolean },
): number {
  const value = text.trim() === '' ? NaN : Number(text);
  if (Number.isFinite(value) && value >= least && value <= most && (!whole || Number.isInteger(value)))
    return value;
  const kind = whole ? 'a whole number' : 'a number';
  throw new RekindleError(
    'UsageError',
    `${option} ${JSON.stringify(text)}: expected ${kind}${most === Infinity ? `, ${least} or more` : ` from ${least} to ${most}`}`,
  );
}
