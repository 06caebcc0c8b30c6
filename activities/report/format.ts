/** Numbers as a reader wants them: few digits, a unit, never `NaN` or `undefined`. */

/** A duration in seconds, such as `850 ms`, `4.2 s`, `3 min 05 s`, `2 h 10 min`. */
export function formatSeconds(seconds: number): string {
  if (seconds < 0.9995) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60)];
  if (hours > 0) return `${hours} h ${String(minutes).padStart(2, '0')} min`;
  return `${minutes} min ${String(whole % 60).padStart(2, '0')} s`;
}

/** A share of one as a percentage with one decimal; an en dash when there is none. */
export function formatAccuracy(accuracy: number | null): string {
  return accuracy === null ? '–' : `${(accuracy * 100).toFixed(1)} %`;
}

/** Four significant digits, with thousands grouped; tiny numbers as powers of ten; a real minus sign. */
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  if (value !== 0 && Math.abs(value) < 1e-4) return value.toExponential(1).replaceAll('-', '−');
  const text = new Intl.NumberFormat('en', { maximumSignificantDigits: 4 }).format(value);
  return text.replace('-', '−');
}

/** A whole number with thousands grouped. */
export function formatCount(count: number): string {
  return new Intl.NumberFormat('en').format(count);
}
