/** Chat templates against transformers: chat-templates-golden.json holds what it rendered (see chat_templates_golden.py). */
import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { compileChatTemplate } from '../../gpu/tokenizer/chat-template.ts';
import type { ChatMessage, ToolDefinition } from '../../gpu/tokenizer/index.ts';

type GivenOptions = Record<string, unknown> & {
  add_generation_prompt: boolean;
  tools?: ToolDefinition[];
  documents?: Record<string, unknown>[];
};
interface Golden {
  templates: Record<string, string>;
  conversations: Record<string, ChatMessage[]>;
  options: Record<string, GivenOptions>;
  cases: { style: string; conversation: string; options: string; rendered?: string; error?: string }[];
}

const goldenPath = new URL('chat-templates/chat-templates-golden.json', import.meta.url);
const golden = JSON.parse(await readFile(goldenPath, 'utf8')) as Golden;

function render(style: string, conversation: string, options: string): string {
  const specialTokens = { bos_token: '<s>', eos_token: '</s>' };
  const template = compileChatTemplate(golden.templates[style]!, style, specialTokens);
  const { add_generation_prompt: addGenerationPrompt, tools, documents, ...given } = golden.options[options]!;
  const variables = { ...(style === 'llama3' && { date_string: '02 Mar 2025' }), ...given };
  return template(golden.conversations[conversation]!, { addGenerationPrompt, tools, documents, variables });
}

describe.each(Object.keys(golden.templates))('a template in the style %s', (style) => {
  const cases = golden.cases.filter((one) => one.style === style);

  it('renders conversations, tools and documents as transformers does', () => {
    for (const { conversation, options, rendered } of cases) {
      if (rendered === undefined) continue;
      expect(render(style, conversation, options), `${conversation}, ${options}`).toBe(rendered);
    }
  });

  it('refuses what it refuses in transformers', () => {
    for (const { conversation, options, error } of cases) {
      if (error === undefined) continue;
      expect(() => render(style, conversation, options), `${conversation}, ${options}`).toThrow(style);
    }
  });
});
