/** `/v1/chat/completions` of OpenAI's API. */
import type { EventStream, Exchange } from '../http/exchange.ts';
import { badField, parseBody } from '../http/http-error.ts';
import { respond, type Asked, type PromptRequest, type Response } from '../respond.ts';
import { checkModelName, newTokens } from '../served-model.ts';
import type { Serving } from '../serving.ts';
import type { ToolCallFormat } from '../tool-calls/tool-call-format.ts';
import { chatSchema, type ChatBody } from './chat-body.ts';
import { chatFinish, chatLogprobs, ChatOutput } from './chat-output.ts';
import { chatPrompt } from './chat-prompt.ts';
import { askedOf, envelope, fingerprint, usage, type Envelope } from './common.ts';

interface Chat {
  body: ChatBody;
  head: Envelope;
  request: PromptRequest;
  /** Null when calls are not looked for. */
  format: ToolCallFormat | null;
}

export async function chat(serving: Serving, exchange: Exchange): Promise<void> {
  const body = parseBody(chatSchema, await exchange.json());
  checkModelName(serving.model, body.model);
  const prepared = prepare(serving, body, exchange.signal);
  if (body.stream) await exchange.stream((events) => stream(serving, prepared, events));
  else exchange.sendJson(200, await whole(serving, prepared));
}

function prepare({ model }: Serving, body: ChatBody, signal: AbortSignal): Chat {
  if (body.top_logprobs != null && !body.logprobs) throw badField('top_logprobs', 'needs logprobs: true');
  const { ids, withTools } = chatPrompt(model, body);
  const maxTokens = newTokens(model, ids, body.max_completion_tokens ?? body.max_tokens ?? null, 'messages');
  const asked: Asked = askedOf(body, maxTokens, body.logprobs ? (body.top_logprobs ?? 0) : null);
  // Some formats mark calls with special tokens.
  if (withTools) asked.keepSpecialTokens = true;
  const object = body.stream ? 'chat.completion.chunk' : 'chat.completion';
  const head = envelope('chatcmpl', object, model.name, body.rid);
  return {
    body,
    head,
    request: { id: head.id, ids, asked, signal },
    format: withTools ? model.toolCalls : null,
  };
}

async function whole(serving: Serving, { body, head, request, format }: Chat): Promise<object> {
  const responses = await respond(serving, request);
  const choices = responses.map((response) => {
    const output = new ChatOutput(format);
    const first = output.push(response.text);
    const last = output.end();
    const content = first.content + last.content;
    const calls = [...first.calls, ...last.calls];
    return {
      index: response.sample,
      message: {
        role: 'assistant',
        content: content === '' && calls.length > 0 ? null : content,
        refusal: null,
        ...(calls.length > 0 && { tool_calls: calls }),
      },
      logprobs: body.logprobs ? chatLogprobs(serving.model, response) : null,
      finish_reason: chatFinish(response, calls.length),
    };
  });
  return {
    ...head,
    choices,
    usage: usage(request.ids.length, responses),
    system_fingerprint: fingerprint(responses[0]!.weightVersion),
  };
}

async function stream(serving: Serving, chat: Chat, events: EventStream): Promise<void> {
  const { body, head, request, format } = chat;
  const withUsage = body.stream_options?.include_usage ?? false;
  const states = Array.from({ length: request.asked.samples }, () => ({
    output: new ChatOutput(format),
    begun: false,
    tokens: 0,
    calls: 0,
  }));

  const onNews = (text: string, soFar: Response): void => {
    const state = states[soFar.sample]!;
    const send = (delta: object, logprobs: object | null, finish: string | null): void =>
      events.send({
        ...head,
        choices: [{ index: soFar.sample, delta, logprobs, finish_reason: finish }],
        system_fingerprint: fingerprint(soFar.weightVersion),
        ...(withUsage && { usage: null }),
      });
    if (!state.begun) send({ role: 'assistant', content: '', refusal: null }, null, null);
    state.begun = true;

    const ended = soFar.finish !== null;
    const pieces = [state.output.push(text), ...(ended ? [state.output.end()] : [])];
    const content = pieces.map((piece) => piece.content).join('');
    const calls = pieces.flatMap((piece) => piece.calls);
    const logprobs =
      body.logprobs && soFar.ids.length > state.tokens
        ? chatLogprobs(serving.model, soFar, state.tokens)
        : null;
    state.tokens = soFar.ids.length;
    if (content !== '' || logprobs) send({ content }, logprobs, null);
    if (calls.length > 0) {
      const numbered = calls.map((call) => ({ index: state.calls++, ...call }));
      send({ tool_calls: numbered }, null, null);
    }
    if (ended) send({}, null, chatFinish(soFar, state.calls));
  };

  const responses = await respond(serving, { ...request, onNews });
  if (withUsage) events.send({ ...head, choices: [], usage: usage(request.ids.length, responses) });
}
