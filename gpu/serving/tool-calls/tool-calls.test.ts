import fc from 'fast-check';
import { readFileSync } from 'node:fs';
import { describe, expect, it, test } from 'vitest';
import { byteLevelTokenizerFiles } from '../../../tests/fixtures/byte-level-tokenizer.ts';
import { fileNames } from '../../model/model-files.ts';
import { loadTokenizer } from '../../tokenizer/index.ts';
import { detectToolCalls, toolCallFormats, type ToolCallFormatName } from './choose-format.ts';
import type { OutputPart, ToolCallFormat } from './tool-call-format.ts';

interface Case {
  what: string;
  output: string;
  content: string;
  calls: [name: string, args: object][];
}

/** Outputs in the form that the models' own templates write and their cards document. */
const cases: Record<ToolCallFormatName, Case[]> = {
  hermes: [
    {
      what: 'one call after some text',
      output: 'Let me look.\n<tool_call>\n{"name": "add", "arguments": {"a": 1, "b": 2}}\n</tool_call>',
      content: 'Let me look.\n',
      calls: [['add', { a: 1, b: 2 }]],
    },
    {
      what: 'two calls',
      output:
        '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>\n<tool_call>{"name": "g", "arguments": {"x": "</b>"}}</tool_call>',
      content: '',
      calls: [
        ['f', {}],
        ['g', { x: '</b>' }],
      ],
    },
    {
      what: 'a call that the stop token ended',
      output: '<tool_call>{"name": "f", "arguments": {"q": "é"}}',
      content: '',
      calls: [['f', { q: 'é' }]],
    },
    {
      what: 'a call that is not JSON',
      output: 'a <tool_call>{"name": </tool_call> b',
      content: 'a <tool_call>{"name": </tool_call> b',
      calls: [],
    },
    { what: 'an unfinished tag', output: 'a <tool_ca', content: 'a <tool_ca', calls: [] },
  ],
  llama3: [
    {
      what: 'a call',
      output: '{"name": "add", "parameters": {"a": 1}}',
      content: '',
      calls: [['add', { a: 1 }]],
    },
    {
      what: 'two calls after a tag',
      output: '<|python_tag|>{"name": "f", "parameters": {}}; {"name": "g", "parameters": {"x": [1]}}',
      content: '',
      calls: [
        ['f', {}],
        ['g', { x: [1] }],
      ],
    },
    { what: 'JSON that is no call', output: '{"answer": 4}', content: '{"answer": 4}', calls: [] },
    { what: 'text', output: 'It is {4}.', content: 'It is {4}.', calls: [] },
  ],
  mistral: [
    {
      what: 'a list of calls',
      output: '[TOOL_CALLS] [{"name": "f", "arguments": {"a": 1}}, {"name": "g", "arguments": {}}]',
      content: '',
      calls: [
        ['f', { a: 1 }],
        ['g', {}],
      ],
    },
    {
      what: 'calls by name after some text',
      output: 'Now.[TOOL_CALLS]f{"a": 1}[TOOL_CALLS]g[ARGS]{"b": {"c": 2}}',
      content: 'Now.',
      calls: [
        ['f', { a: 1 }],
        ['g', { b: { c: 2 } }],
      ],
    },
    { what: 'no JSON', output: '[TOOL_CALLS] f(1)', content: '[TOOL_CALLS] f(1)', calls: [] },
  ],
};

function parse(format: ToolCallFormat, pieces: readonly string[]): Pick<Case, 'content' | 'calls'> {
  const parser = format.parser();
  const parts: OutputPart[] = [...pieces.flatMap((piece) => parser.push(piece)), ...parser.end()];
  return {
    content: parts.map((part) => ('content' in part ? part.content : '')).join(''),
    calls: parts.flatMap((part) =>
      'call' in part ? [[part.call.name, JSON.parse(part.call.arguments) as object] as [string, object]] : [],
    ),
  };
}

describe.each(Object.entries(toolCallFormats))('%s', (name, format) => {
  test.each(cases[name as ToolCallFormatName])('reads $what, however the text is cut', (one) => {
    const expected = { content: one.content, calls: one.calls };
    expect(parse(format, [one.output])).toEqual(expected);
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: one.output.length }), { maxLength: 8 }), (cuts) => {
        const edges = [0, ...cuts.sort((a, b) => a - b), one.output.length];
        const pieces = edges.slice(1).map((edge, i) => one.output.slice(edges[i], edge));
        expect(parse(format, pieces)).toEqual(expected);
      }),
      { numRuns: 50 },
    );
  });

  it('gives out content before the end where no call can begin', () => {
    expect(format.parser().push('plain text')).toEqual([{ content: 'plain text' }]);
  });
});

it('gives ids in the form that each template takes', () => {
  expect(toolCallFormats.mistral.newId()).toMatch(/^[A-Za-z0-9]{9}$/);
  expect(toolCallFormats.hermes.newId()).toMatch(/^call_[A-Za-z0-9]{24}$/);
});

describe('the format of a model', () => {
  /** Templates of the chat template oracle, each in the manner of a family. */
  const { templates } = JSON.parse(
    readFileSync(
      new URL('../../../tests/oracles/chat-templates/chat-templates-golden.json', import.meta.url),
      'utf8',
    ),
  ) as { templates: Record<string, string> };

  test.each([
    ['qwen', 'hermes'],
    ['llama3', 'llama3'],
    ['mistral', 'mistral'],
    ['chatml', null],
  ])('with the template of %s is %s', (template, expected) => {
    const files = byteLevelTokenizerFiles();
    files[fileNames.chatTemplate] = new TextEncoder().encode(templates[template]);
    expect(detectToolCalls(loadTokenizer(files))).toBe(expected);
  });
});
