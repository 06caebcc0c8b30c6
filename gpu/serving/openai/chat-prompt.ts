/** The prompt of a conversation, by the model's own chat template. */
import { isCause } from '../../../core/errors.ts';
import { badField } from '../http/http-error.ts';
import { encodeText, type ServedModel } from '../served-model.ts';
import { templateMessages, type ChatBody } from './chat-body.ts';

export interface ChatPrompt {
  ids: number[];
  /** Whether calls are to be looked for in the response. */
  withTools: boolean;
}

/** @throws HttpError 400 when the model has no template, no way to call tools, or its template refuses the conversation. */
export function chatPrompt(model: ServedModel, body: ChatBody): ChatPrompt {
  const { tokenizer, toolCalls } = model;
  if (!tokenizer.hasChatTemplate) {
    throw badField('messages', 'cannot be rendered: the model has no chat template; use /v1/completions');
  }
  const withTools = (body.tools?.length ?? 0) > 0 && body.tool_choice !== 'none';
  if (withTools && !toolCalls) {
    throw badField(
      'tools',
      'cannot be served: the chat template of the model writes no tool calls in a known format; name one with --tool-calls',
    );
  }
  try {
    const text = tokenizer.applyChatTemplate(templateMessages(body), {
      addGenerationPrompt: true,
      ...(withTools && { tools: body.tools! }),
      ...(body.chat_template_kwargs && { variables: body.chat_template_kwargs }),
    });
    return { ids: encodeText(model, text, 'messages'), withTools };
  } catch (error) {
    if (isCause(error, 'ModelError')) throw badField('messages', `cannot be rendered: ${error.message}`);
    throw error;
  }
}
