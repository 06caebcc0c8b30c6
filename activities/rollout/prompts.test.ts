import { describe, expect, it } from 'vitest';
import { fileNames } from '../../gpu/model/model-files.ts';
import { loadTokenizer, type ChatMessage, type Tokenizer } from '../../gpu/tokenizer/index.ts';
import { byteLevelTokenizerFiles, endToken, turnToken } from '../../tests/fixtures/byte-level-tokenizer.ts';
import { observationIds } from './prompts.ts';

/** The forms of templates in use, with the tokens of the tiny tokenizer in the place of their own. */
const templates: Record<string, string> = {
  ChatML:
    `{% for m in messages %}{{ '${turnToken}' + m.role + '\\n' + m.content + '${endToken}' + '\\n' }}{% endfor %}` +
    `{% if add_generation_prompt %}{{ '${turnToken}assistant\\n' }}{% endif %}`,
  'Llama 3':
    `{{ '<begin>' }}{% for m in messages %}{{ '${turnToken}' + m.role + '${turnToken}\\n\\n' + m.content | trim + '${endToken}' }}{% endfor %}` +
    `{% if add_generation_prompt %}{{ '${turnToken}assistant${turnToken}\\n\\n' }}{% endif %}`,
  'Llama 2':
    `{% for m in messages %}{% if m.role == 'user' %}{{ '<s>[INST] ' + m.content + ' [/INST]' }}` +
    `{% elif m.role == 'assistant' %}{{ ' ' + m.content + ' ${endToken}' }}{% endif %}{% endfor %}`,
  'with a thought before each answer, shown in the last one only':
    `{% for m in messages %}{{ '${turnToken}' + m.role + '\\n' + m.content + '${endToken}\\n' }}{% endfor %}` +
    `{% if add_generation_prompt %}{{ '${turnToken}assistant\\n<think>\\n\\n</think>\\n\\n' }}{% endif %}`,
};

function tokenizerWith(template: string): Tokenizer {
  const files = {
    ...byteLevelTokenizerFiles(),
    [fileNames.chatTemplate]: new TextEncoder().encode(template),
  };
  return loadTokenizer(files);
}

const chat = { prompt: { template: 'chat' as const, system: 'Be brief.' } };

describe.each(Object.entries(templates))('in a template like %s', (name, template) => {
  const tokenizer = tokenizerWith(template);
  const [end] = tokenizer.encode(endToken);

  it('a conversation continued turn by turn has the tokens that the template writes for the whole of it', () => {
    const sampled = tokenizer.encode('12');
    const responseIds = [...sampled, end!];
    const prompt = observationIds({ recipe: { prompt: { template: 'chat' } }, tokenizer }, [], 'Sum?');
    const next = observationIds(
      { recipe: { prompt: { template: 'chat' } }, tokenizer },
      [{ responseIds }],
      'No.',
    );
    const messages: ChatMessage[] = [
      { role: 'user', content: 'Sum?' },
      { role: 'assistant', content: '12' },
      { role: 'user', content: 'No.' },
    ];
    const whole = tokenizer.encode(tokenizer.applyChatTemplate(messages, { addGenerationPrompt: true }));
    const continued = [...prompt, ...responseIds, ...next];
    // What opens an answer, white space or an empty thought, is not written again in an answer that is over.
    const opening = name.startsWith('with a thought') ? '<think>\n\n</think>\n\n' : '';
    const shown = (ids: number[]) => ids.map((id) => tokenizer.token(id)).join('');
    const spaceless = (text: string) => text.replaceAll('Ġ', '').replaceAll(' ', '');
    expect(spaceless(shown(continued).replace(opening, ''))).toBe(spaceless(shown(whole)));
  });

  it('the system message is not said again', () => {
    const next = observationIds({ recipe: chat, tokenizer }, [{ responseIds: [end!] }], 'No.');
    expect(tokenizer.decode(next)).toContain('No.');
    expect(tokenizer.decode(next)).not.toContain('brief');
  });
});

describe('an observation after a response', () => {
  const tokenizer = tokenizerWith(templates['ChatML']!);
  const recipe = { prompt: { template: 'chat' as const } };

  it('ends a response that another stop token ended as the template ends it', () => {
    const next = observationIds({ recipe, tokenizer }, [{ responseIds: tokenizer.encode('12') }], 'No.');
    expect(next[0]).toBe(tokenizer.encode(endToken)[0]);
  });

  it('is put after it as it is without a template', () => {
    const raw = { prompt: { template: 'raw' as const } };
    expect(observationIds({ recipe: raw, tokenizer }, [{ responseIds: [1] }], 'No.')).toEqual(
      tokenizer.encode('No.'),
    );
  });

  it('is refused by a template that does not show responses', () => {
    const silent = tokenizerWith(`{{ '${turnToken}' + messages[0].content }}`);
    expect(() => observationIds({ recipe, tokenizer: silent }, [{ responseIds: [1] }], 'No.')).toThrow(
      'does not show the response of an assistant',
    );
  });
});
