/**
 * Calls after a token: `[TOOL_CALLS][{"name": …, "arguments": {…}}, …]`, or since 2025 `[TOOL_CALLS]name{…}` with `[ARGS]` between
 * the two in some versions, repeated for each call. What comes before is content. Ids have nine letters and digits.
 */
import { beginningAtEnd } from '../response-text.ts';
import {
  content,
  randomId,
  readCalls,
  type ParsedCall,
  type OutputPart,
  type ToolCallFormat,
} from './tool-call-format.ts';

const marker = '[TOOL_CALLS]';

function callsAfterMarker(text: string): ParsedCall[] | null {
  if (/^\s*\[\s*\{/.test(text)) return readCalls(text);
  const calls = text.split(marker).map((piece) => {
    const named = /^\s*([\w.-]+)\s*(?:\[CALL_ID\]\s*\w+\s*)?(?:\[ARGS\])?\s*(\{[^]*\})\s*$/.exec(piece);
    return named && readCalls(`{"name": ${JSON.stringify(named[1])}, "arguments": ${named[2]}}`);
  });
  return calls.every((call) => call !== null) ? calls.flat() : null;
}

export const mistral: ToolCallFormat = {
  newId: () => randomId('', 9),
  parser() {
    let rest = '';
    let found = false;
    return {
      push(text): OutputPart[] {
        rest += text;
        if (found) return [];
        const at = rest.indexOf(marker);
        found = at >= 0;
        const certain = found ? at : rest.length - beginningAtEnd(rest, [marker]);
        const before = rest.slice(0, certain);
        rest = rest.slice(certain);
        return content(before);
      },
      end(): OutputPart[] {
        if (!found) return content(rest);
        const calls = callsAfterMarker(rest.slice(marker.length));
        return calls ? calls.map((call) => ({ call })) : content(rest);
      },
    };
  },
};
