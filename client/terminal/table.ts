/** Tables for terminals: no borders but a rule under the heads, columns two spaces apart. */
import Table from 'cli-table3';

const plain = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '  ',
};

/** Rows under heads; with no heads, a list of names and values. */
export function formatTable(rows: string[][], heads?: string[]): string {
  const style = { 'padding-left': 0, 'padding-right': 0, head: [], border: [] };
  const table = new Table({ chars: plain, style, ...(heads && { head: heads }) });
  table.push(...rows);
  return table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}
