/** A table as Markdown; what is in a cell stays in it. */
export function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]): string => `| ${cells.map(cellText).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** Bars and angle brackets would be taken for the table's own, or for HTML. */
function cellText(text: string): string {
  const safe = text.replaceAll('|', '\\|');
  return text.includes('`') ? safe : safe.replaceAll('<', '\\<');
}
