import { describe, expect, it } from 'vitest';
import { isCause } from '../../core/errors.ts';
import { compileChatTemplate } from './chat-template.ts';
import type { ChatMessage } from './tokenizer.ts';

const messages: ChatMessage[] = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: ' Hi ' },
];

function render(source: string, addGenerationPrompt = true): string {
  const specialTokens = { bos_token: '<s>', eos_token: '</s>' };
  return compileChatTemplate(source, 'chat_template.jinja', specialTokens)(messages, { addGenerationPrompt });
}

describe('compileChatTemplate', () => {
  it('gives a template the messages, the special tokens and the generation prompt flag', () => {
    const source =
      "{{ bos_token }}{% for m in messages %}[{{ m['role'] }}]{{ m.content | trim }}{{ eos_token }}{% endfor %}" +
      '{% if add_generation_prompt %}[assistant]{% endif %}';
    expect(render(source)).toBe('<s>[system]Be brief.</s>[user]Hi</s>[assistant]');
    expect(render(source, false)).toBe('<s>[system]Be brief.</s>[user]Hi</s>');
  });

  it('trims the line of a block, as transformers does', () => {
    expect(render('a\n  {% if true %}\nb\n  {% endif %}\nc\n')).toBe('a\nb\nc');
  });

  it('passes none for tools and documents', () => {
    expect(render('{{ tools is none }} {{ documents is none }} {{ date_string is defined }}')).toBe(
      'true true false',
    );
  });

  it('has range, with one to three arguments', () => {
    const loop = (range: string) => render(`{% for i in ${range} %}{{ i }} {% endfor %}`);
    expect(loop('range(3)')).toBe('0 1 2 ');
    expect(loop('range(2, 5)')).toBe('2 3 4 ');
    expect(loop('range(5, 0, -2)')).toBe('5 3 1 ');
    expect(loop('range(3, 1)')).toBe('');
    expect(() => loop('range(1000000000)')).toThrow('at most 100000 are allowed');
  });

  it('has no clock of its own: a template that asks for the date takes its fixed one, or the time that is given', () => {
    const source =
      '{% if strftime_now is defined %}{{ strftime_now("%d %b %Y, %A %-d.%-m.%y %H:%M:%S %I %p %j %%") }}{% else %}26 Jul 2024{% endif %}';
    expect(render(source)).toBe('26 Jul 2024');
    const template = compileChatTemplate(source, 'chat_template.jinja', {});
    const options = { addGenerationPrompt: false, now: new Date(2025, 2, 4, 15, 6, 7) };
    expect(template(messages, options)).toBe('04 Mar 2025, Tuesday 4.3.25 15:06:07 03 PM 063 %');
  });

  it('writes a generation block as it is, with the white space of its marks', () => {
    expect(
      render('a\n{% generation %} b\n{% endgeneration %}\nc{%- generation -%} d {%- endgeneration %}'),
    ).toBe('a\n b\ncd');
  });

  it.each([
    [
      'a template that cannot be parsed',
      '{% for m in messages %}',
      /chat_template\.jinja: .*cannot be parsed/,
    ],
    [
      'a conversation that the template refuses',
      "{{ raise_exception('roles must alternate') }}",
      /chat_template\.jinja: .*refused the conversation: roles must alternate/,
    ],
  ])('throws a ModelError for %s', (_, source, message) => {
    let thrown: unknown;
    try {
      render(source);
    } catch (error) {
      thrown = error;
    }
    expect(isCause(thrown, 'ModelError')).toBe(true);
    expect((thrown as Error).message).toMatch(message);
  });
});
