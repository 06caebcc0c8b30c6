/**
 * Finds the final answer in a piece of reasoning. One place counts and a later one replaces an earlier one, so listing several
 * answers gains nothing. Time is linear in the length of the text, whatever it holds.
 */
const BOX = '\\boxed{';
/** A sign counts only if nothing that it could be subtracted from stands before it. */
const NUMBER = /(?:(?<![\w)\]}])[-−])?\$?(?:(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|\.\d+)(?:\/\d+)?/g;

/** The content of the last `\boxed{…}` whose braces balance, else the rest of the line after the last `####`. */
export function markedAnswer(text: string): string | undefined {
  return lastBox(text) ?? afterHashes(text);
}

/** The last number in the text (ASCII digits), with its sign and fraction. */
export function lastNumber(text: string): string | undefined {
  let last: string | undefined;
  for (const match of text.matchAll(NUMBER)) last = match[0];
  return last;
}

/** One pass with a stack of open braces; a brace after a backslash is text. */
function lastBox(text: string): string | undefined {
  const openings: { contentStart: number; isBox: boolean }[] = [];
  let start = -1;
  let end = -1;
  for (let i = 0; i < text.length; i++) {
    if (text.startsWith(BOX, i)) {
      i += BOX.length - 1;
      openings.push({ contentStart: i + 1, isBox: true });
    } else if (text[i] === '\\') {
      i++;
    } else if (text[i] === '{') {
      openings.push({ contentStart: i + 1, isBox: false });
    } else if (text[i] === '}') {
      const opening = openings.pop();
      if (opening?.isBox && opening.contentStart > start) {
        start = opening.contentStart;
        end = i;
      }
    }
  }
  return start < 0 ? undefined : text.slice(start, end);
}

function afterHashes(text: string): string | undefined {
  const parts = text.split(/(?<!#)####(?!#)/);
  if (parts.length === 1) return undefined;
  return parts.at(-1)!.split('\n', 1)[0]!.trim() || undefined;
}
