/** A curve in one line of text. */
const levels = '▁▂▃▄▅▆▇█';

/** The last `width` values, scaled between the smallest and the largest of them; a level line when they are equal. */
export function sparkline(values: number[], width: number): string {
  const shown = values.slice(-width);
  const low = Math.min(...shown);
  const span = Math.max(...shown) - low;
  return shown
    .map((value) => levels[span === 0 ? 3 : Math.round(((value - low) / span) * (levels.length - 1))]!)
    .join('');
}

/** A bar of `width` cells, filled to a share of one. */
export function progressBar(share: number, width: number): string {
  const filled = Math.round(Math.min(1, Math.max(0, share)) * width);
  return '━'.repeat(filled) + '╌'.repeat(width - filled);
}
