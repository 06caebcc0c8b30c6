/**
 * From what an environment says to the token ids that the policy sees. Sampled tokens stay what they are: a later observation adds
 * tokens after them, in a chat template those of a user message between the end of the response and the beginning of the next.
 */
import { RekindleError } from '../../core/errors.ts';
import type { Recipe } from '../../core/recipe.ts';
import type { Turn } from '../../core/records.ts';
import type { ChatMessage, Tokenizer } from '../../gpu/tokenizer/index.ts';

export interface Prompting {
  recipe: Pick<Recipe, 'prompt'>;
  tokenizer: Tokenizer;
}

/** The tokens to put before the next response: the whole prompt if `turns` is empty, else what follows the last of them. */
export function observationIds(
  prompting: Prompting,
  turns: readonly Pick<Turn, 'responseIds'>[],
  observation: string,
): number[] {
  const last = turns.at(-1);
  return last === undefined
    ? promptIds(prompting, observation)
    : continuationIds(prompting, last.responseIds, observation);
}

function promptIds({ recipe, tokenizer }: Prompting, text: string): number[] {
  if (recipe.prompt.template === 'raw') return tokenizer.encode(text);
  const { system } = recipe.prompt;
  const messages: ChatMessage[] = [
    ...(system === undefined ? [] : [{ role: 'system' as const, content: system }]),
    { role: 'user', content: text },
  ];
  return tokenizer.encode(tokenizer.applyChatTemplate(messages, { addGenerationPrompt: true }));
}

/** Stands for a response that the template is to show; no template writes it by itself. */
const responseMark = 'REKINDLE-RESPONSE';

/**
 * The template is asked for a conversation whose response is a mark; what it writes after the mark is the end of the response,
 * the observation, and the generation prompt. Where that begins with the stop token that was sampled, it is not repeated.
 */
function continuationIds(
  { recipe, tokenizer }: Prompting,
  responseIds: readonly number[],
  observation: string,
): number[] {
  if (recipe.prompt.template === 'raw') return tokenizer.encode(observation);
  const rendered = tokenizer.applyChatTemplate(
    [
      { role: 'user', content: 'x' },
      { role: 'assistant', content: responseMark },
      { role: 'user', content: observation },
    ],
    { addGenerationPrompt: true },
  );
  const at = rendered.indexOf(responseMark);
  if (at < 0) {
    throw new RekindleError(
      'ModelError',
      'the chat template does not show the response of an assistant, so a conversation of several turns cannot be continued',
      { hint: 'Use prompt.template: raw, or a model whose template shows earlier responses.' },
    );
  }
  const ids = tokenizer.encode(rendered.slice(at + responseMark.length));
  const end = ids.findIndex((id) => tokenizer.stopIds.includes(id));
  const endsResponse = end >= 0 && tokenizer.decode(ids.slice(0, end)).trim() === '';
  return endsResponse && responseIds.at(-1) === ids[end] ? ids.slice(end + 1) : ids;
}
