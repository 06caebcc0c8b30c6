import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { byteLevelTokenizerFiles, turnToken } from '../../tests/fixtures/byte-level-tokenizer.ts';
import { jsonFile, type ModelFiles } from '../model/model-files.ts';
import { loadTokenizer, type ChatMessage } from './index.ts';

const files = byteLevelTokenizerFiles();
const tokenizer = loadTokenizer(files);
const hello: ChatMessage[] = [{ role: 'user', content: 'hello' }];

/** The files with some keys of tokenizer_config.json set. */
function withConfig(change: Record<string, unknown>, base: ModelFiles = files): ModelFiles {
  const config = JSON.parse(new TextDecoder().decode(base['tokenizer_config.json'])) as Record<
    string,
    unknown
  >;
  return { ...base, 'tokenizer_config.json': jsonFile({ ...config, ...change }) };
}

function without(name: string): ModelFiles {
  return Object.fromEntries(Object.entries(files).filter(([key]) => key !== name));
}

describe('encode and decode', () => {
  it('return any text without special tokens as it was', () => {
    const text = fc.string({ unit: 'grapheme' }).filter((s) => !s.includes('<|'));
    fc.assert(
      fc.property(text, (s) => {
        expect(tokenizer.decode(tokenizer.encode(s))).toBe(s);
      }),
    );
  });

  it('merge, and know special tokens in text', () => {
    expect(tokenizer.encode(`the${turnToken}in`)).toEqual([257, 266, 258]);
  });

  it('add no token that the text does not have, even where the tokenizer would', () => {
    const post_processor = {
      type: 'TemplateProcessing',
      single: [{ SpecialToken: { id: turnToken, type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }],
      pair: [],
      special_tokens: { [turnToken]: { id: turnToken, ids: [266], tokens: [turnToken] } },
    };
    const beginning = loadTokenizer({
      ...files,
      'tokenizer.json': jsonFile({ ...tokenizerJson(), post_processor }),
    });
    expect(beginning.encode('the')).toEqual([257]);
  });

  it('leave out special tokens and ids without a token', () => {
    expect(tokenizer.decode([266, 104, 105, 268, 271, 1e9, 267])).toBe('hi');
    expect(tokenizer.decode([267])).toBe('');
    expect(tokenizer.decode([])).toBe('');
  });
});

describe('token', () => {
  it('tells text, special tokens, parts of characters and ids without a token apart', () => {
    const [first] = tokenizer.encode('\u65e5');
    expect([259, 266, first!, 300].map((id) => tokenizer.token(id))).toEqual([
      ' the',
      '<|turn|>',
      '\u00e6',
      '<300>',
    ]);
  });
});

describe('stopIds', () => {
  it('gather the end tokens of config.json, generation_config.json and the tokenizer', () => {
    const more = {
      'config.json': jsonFile({ eos_token_id: 3 }),
      'generation_config.json': jsonFile({ eos_token_id: [5, 267] }),
    };
    expect(loadTokenizer(files).stopIds).toEqual([267]);
    expect(loadTokenizer({ ...files, ...more }).stopIds).toEqual([3, 5, 267]);
  });

  it('accept an end token written as an object, or none', () => {
    expect(loadTokenizer(withConfig({ eos_token: { content: '<|turn|>' } })).stopIds).toEqual([266]);
    expect(loadTokenizer(withConfig({ eos_token: null })).stopIds).toEqual([]);
  });
});

describe('applyChatTemplate', () => {
  const render = (from: ModelFiles) =>
    loadTokenizer(from).applyChatTemplate(hello, { addGenerationPrompt: false });
  const bare = without('chat_template.jinja');
  const named = [
    { name: 'tool_use', template: 'wrong' },
    { name: 'default', template: 'listed {{ eos_token }}' },
  ];

  it('takes chat_template.jinja, else the template of tokenizer_config.json, by itself or named default', () => {
    expect(render(withConfig({ chat_template: 'inline' }))).toBe('<|turn|>user\nhello<|end|>\n');
    expect(render(withConfig({ chat_template: 'inline' }, bare))).toBe('inline');
    expect(render(withConfig({ chat_template: named }, bare))).toBe('listed <|end|>');
  });

  it('says that there is none, and what to do, only when it is called', () => {
    for (const from of [bare, withConfig({ chat_template: [] }, bare)]) {
      expect(() => render(from)).toThrow(
        /no chat template: neither chat_template\.jinja nor chat_template in/,
      );
    }
  });
});

describe('loadTokenizer refuses', () => {
  it.each([
    ['a missing tokenizer.json', without('tokenizer.json'), 'the model has no tokenizer.json'],
    [
      'a tokenizer.json without a model',
      { ...files, 'tokenizer.json': jsonFile({}) },
      'tokenizer.json: model is missing',
    ],
    [
      'a component that is not known',
      { ...files, 'tokenizer.json': jsonFile({ ...tokenizerJson(), pre_tokenizer: { type: 'Telepathy' } }) },
      'tokenizer.json: pre_tokenizer.type is "Telepathy", supported are ByteLevel',
    ],
    ['an end token of the wrong type', withConfig({ eos_token: 7 }), 'tokenizer_config.json: eos_token is 7'],
    [
      'end token ids of the wrong type',
      { ...files, 'generation_config.json': jsonFile({ eos_token_id: 'x' }) },
      'generation_config.json: eos_token_id is "x"',
    ],
  ])('%s', (_, broken, message) => {
    expect(() => loadTokenizer(broken)).toThrow(message);
  });
});

function tokenizerJson(): Record<string, unknown> {
  return JSON.parse(new TextDecoder().decode(files['tokenizer.json'])) as Record<string, unknown>;
}
