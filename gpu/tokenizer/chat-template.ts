/** Chat templates in Jinja, rendered as transformers does, but independent of the clock. */
import { Template } from '@huggingface/jinja';
import { RekindleError } from '../../core/errors.ts';
import type { ChatMessage } from './tokenizer.ts';

export type ChatTemplate = (
  messages: readonly ChatMessage[],
  options: { addGenerationPrompt: boolean },
) => string;

/**
 * Compiles a template.
 * @param file how errors name it
 * @param specialTokens variables such as `bos_token` and `eos_token`
 * @throws RekindleError ModelError when the template cannot be parsed; the returned function throws it when rendering fails.
 */
export function compileChatTemplate(
  source: string,
  file: string,
  specialTokens: Record<string, string>,
): ChatTemplate {
  const refuse = (step: string, error: unknown): never => {
    throw new RekindleError('ModelError', `${file}: chat template ${step}: ${(error as Error).message}`, {
      cause: error,
    });
  };
  let template: Template;
  try {
    template = new Template(source);
  } catch (error) {
    return refuse('cannot be parsed', error);
  }
  return (messages, { addGenerationPrompt }) => {
    try {
      return template.render({
        ...specialTokens,
        messages,
        tools: null,
        documents: null,
        add_generation_prompt: addGenerationPrompt,
        // A prompt with today's date would differ between a run and its repetition; templates fall back to a fixed date.
        strftime_now: undefined,
      });
    } catch (error) {
      return refuse('refused the conversation', error);
    }
  };
}
