/**
 * A response that is nothing but calls: `{"name": …, "parameters": {…}}`, several of them with `;` between, after `<|python_tag|>`
 * in some versions. Any other response is content.
 */
import { content, randomId, readCalls, type OutputPart, type ToolCallFormat } from './tool-call-format.ts';

const tag = '<|python_tag|>';

/** Whether a text may become calls, judged by its first characters. */
function mayBeCalls(text: string): boolean {
  const start = text.trimStart();
  return start.startsWith('{') || start.startsWith(tag) || tag.startsWith(start);
}

export const llama3: ToolCallFormat = {
  newId: () => randomId('call_', 24),
  parser() {
    let held = '';
    let isContent = false;
    return {
      push(text): OutputPart[] {
        if (isContent) return content(text);
        held += text;
        if (mayBeCalls(held)) return [];
        isContent = true;
        return content(held);
      },
      end(): OutputPart[] {
        if (isContent) return [];
        const body = held.replace(tag, '').trim();
        const calls = readCalls(body) ?? readCalls(`[${body.replaceAll(/\}\s*;\s*\{/g, '},{')}]`);
        return calls ? calls.map((call) => ({ call })) : content(held);
      },
    };
  },
};
