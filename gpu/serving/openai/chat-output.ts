/** What a response is to a chat client: content, tool calls, log-probs. */
import type { Response } from '../respond.ts';
import type { ServedModel } from '../served-model.ts';
import type { OutputPart, ToolCallFormat, ToolCallParser } from '../tool-calls/tool-call-format.ts';
import { tokenLogprobs } from './common.ts';

export interface ToolCallView {
  id: string;
  type: 'function';
  function: { name: string; arguments: string };
}

export interface ChatPiece {
  content: string;
  calls: ToolCallView[];
}

/** Takes the text of one response apart as it comes. */
export class ChatOutput {
  readonly #format: ToolCallFormat | null;
  readonly #parser: ToolCallParser | null;

  /** @param format null when calls are not looked for */
  constructor(format: ToolCallFormat | null) {
    this.#format = format;
    this.#parser = format && format.parser();
  }

  push(text: string): ChatPiece {
    return this.#view(this.#parser ? this.#parser.push(text) : [{ content: text }]);
  }

  end(): ChatPiece {
    return this.#view(this.#parser ? this.#parser.end() : []);
  }

  #view(parts: readonly OutputPart[]): ChatPiece {
    const piece: ChatPiece = { content: '', calls: [] };
    for (const part of parts) {
      if ('content' in part) piece.content += part.content;
      else piece.calls.push({ id: this.#format!.newId(), type: 'function', function: part.call });
    }
    return piece;
  }
}

/** One entry a token from `from` on; bytes are null for a part of a character. */
export function chatLogprobs({ tokenizer }: ServedModel, response: Response, from = 0): object {
  const entry = (id: number, logprob: number) => {
    const token = tokenizer.token(id);
    const isPart = tokenizer.decode([id]).includes('\ufffd');
    return { token, logprob, bytes: isPart ? null : [...new TextEncoder().encode(token)] };
  };
  return {
    content: tokenLogprobs(response, from).map(({ id, logprob, top }) => ({
      ...entry(id, logprob),
      top_logprobs: top.map((likely) => entry(likely.id, likely.logprob)),
    })),
    refusal: null,
  };
}

export function chatFinish({ finish }: Response, calls: number): string | null {
  return finish === 'stop' && calls > 0 ? 'tool_calls' : finish;
}
