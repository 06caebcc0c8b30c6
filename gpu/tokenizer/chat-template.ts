/**
 * Chat templates in Jinja, rendered as transformers renders them, with one difference: there is no `strftime_now`. A prompt with
 * today's date would not be the same when a run is repeated; templates that ask for the date fall back to a fixed one.
 */
import { RekindleError } from '../../core/errors.ts';
import { parseTemplate, renderTemplate } from './libraries.ts';
import type { ChatMessage } from './tokenizer.ts';

export type ChatTemplate = (
  messages: readonly ChatMessage[],
  options: { addGenerationPrompt: boolean },
) => string;

/** Jinja's `range`. */
function range(first: number, second?: number, step = 1): number[] {
  const [start, stop] = second === undefined ? [0, first] : [first, second];
  if (step === 0) throw new Error('range() step must not be zero');
  return Array.from({ length: Math.max(0, Math.ceil((stop - start) / step)) }, (_, i) => start + i * step);
}

const globals = {
  true: true,
  false: false,
  none: null,
  True: true,
  False: false,
  None: null,
  range,
  raise_exception: (message: string): never => {
    throw new Error(message);
  },
};

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
  const attempt = <T>(step: string, action: () => T): T => {
    try {
      return action();
    } catch (error) {
      throw new RekindleError('ModelError', `${file}: chat template ${step}: ${(error as Error).message}`, {
        cause: error,
      });
    }
  };
  const program = attempt('cannot be parsed', () => parseTemplate(source));
  return (messages, { addGenerationPrompt }) =>
    attempt('refused the conversation', () =>
      renderTemplate(program, {
        ...globals,
        ...specialTokens,
        messages,
        tools: null,
        documents: null,
        add_generation_prompt: addGenerationPrompt,
      }),
    );
}
