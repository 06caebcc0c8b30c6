/**
 * Calls in tags: `<tool_call>{"name": …, "arguments": {…}}</tool_call>`, any number of them, with text before and between. Written
 * by Hermes 2 Pro and later, and Qwen 2.5 and 3.
 */
import { beginningAtEnd } from '../response-text.ts';
import { content, randomId, readCalls, type OutputPart, type ToolCallFormat } from './tool-call-format.ts';

const open = '<tool_call>';
const close = '</tool_call>';

export const hermes: ToolCallFormat = {
  newId: () => randomId('call_', 24),
  parser() {
    let rest = '';
    let inside = false;
    let called = false;

    /** White space around calls is part of the format. */
    const outside = (text: string): OutputPart[] => (called && text.trim() === '' ? [] : content(text));
    const finish = (body: string, end: string): OutputPart[] => {
      const calls = readCalls(body);
      if (!calls) return content(open + body + end);
      called = true;
      return calls.map((call) => ({ call }));
    };

    const push = (text: string): OutputPart[] => {
      rest += text;
      const parts: OutputPart[] = [];
      for (;;) {
        const tag = inside ? close : open;
        const at = rest.indexOf(tag);
        if (at < 0) break;
        const before = rest.slice(0, at);
        parts.push(...(inside ? finish(before, close) : outside(before)));
        rest = rest.slice(at + tag.length);
        inside = !inside;
      }
      if (inside) return parts;
      const certain = rest.length - beginningAtEnd(rest, [open]);
      parts.push(...outside(rest.slice(0, certain)));
      rest = rest.slice(certain);
      return parts;
    };
    return { push, end: () => (inside ? finish(rest, '') : outside(rest)) };
  },
};
