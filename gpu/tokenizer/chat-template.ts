/**
 * Chat templates in Jinja, rendered as transformers renders them, with one difference: `strftime_now` is there only for a caller
 * that gives the time. A prompt with today's date would not be the same when a run is repeated; without the function, templates
 * that ask for the date fall back to a fixed one.
 */
import { RekindleError } from '../../core/errors.ts';
import { parseTemplate, renderTemplate } from './jinja.ts';
import { strftime } from './strftime.ts';
import type { ChatMessage, ChatTemplateOptions } from './tokenizer.ts';

export type ChatTemplate = (messages: readonly ChatMessage[], options: ChatTemplateOptions) => string;

/** The longest range in transformers, whose templates run in Jinja's sandbox. */
const longestRange = 100_000;

/** Jinja's `range`. */
function range(first: number, second?: number, step = 1): number[] {
  const [start, stop] = second === undefined ? [0, first] : [first, second];
  if (step === 0) throw new Error('range() step must not be zero');
  const length = Math.max(0, Math.ceil((stop - start) / step));
  if (length > longestRange)
    throw new Error(`range of ${length} numbers, at most ${longestRange} are allowed`);
  return Array.from({ length }, (_, i) => start + i * step);
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

/** `{% generation %}` marks what the assistant wrote; in a prompt it is a block like any other, and always shown. */
function withoutGenerationMarks(source: string): string {
  return source
    .replace(/\{%([-+]?)\s*generation\s*(-?)%\}/g, '{%$1 if true $2%}')
    .replace(/\{%([-+]?)\s*endgeneration\s*(-?)%\}/g, '{%$1 endif $2%}');
}

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
  const program = attempt('cannot be parsed', () => parseTemplate(withoutGenerationMarks(source)));
  return (messages, { addGenerationPrompt, tools, documents, now, variables }) =>
    attempt('refused the conversation', () =>
      renderTemplate(program, {
        ...globals,
        ...(now && { strftime_now: (format: string) => strftime(now, format) }),
        ...specialTokens,
        messages,
        tools: tools ?? null,
        documents: documents ?? null,
        add_generation_prompt: addGenerationPrompt,
        ...variables,
      }),
    );
}
