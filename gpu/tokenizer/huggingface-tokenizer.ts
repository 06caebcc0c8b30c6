/** A tokenizer from the files of a Hugging Face model folder. */
import { z } from 'zod';
import { RekindleError } from '../../core/errors.ts';
import { tokenIdsSchema } from '../model/huggingface-config.ts';
import { fileNames, parseJsonFile, requiredFile, type ModelFiles } from '../model/model-files.ts';
import { compileChatTemplate, type ChatTemplate } from './chat-template.ts';
import { TokenizerLibrary } from './libraries.ts';
import type { Tokenizer } from './tokenizer.ts';

const tokenizerSchema = z.looseObject({
  model: z.looseObject({}),
  added_tokens: z
    .array(z.looseObject({ id: z.number().int().nonnegative(), content: z.string(), special: z.boolean() }))
    .default([]),
});

const specialToken = z
  .union([z.string(), z.looseObject({ content: z.string() }).transform(({ content }) => content)])
  .nullish();
const tokenizerConfigSchema = z.looseObject({
  bos_token: specialToken,
  eos_token: specialToken,
  pad_token: specialToken,
  unk_token: specialToken,
  clean_up_tokenization_spaces: z.boolean().nullish(),
  chat_template: z
    .union([z.string(), z.array(z.looseObject({ name: z.string(), template: z.string() }))])
    .nullish(),
});
type TokenizerConfig = z.infer<typeof tokenizerConfigSchema>;

const endTokensSchema = z.looseObject({ eos_token_id: tokenIdsSchema });

/** The template for conversations, and the one for those with tools where it is another. */
interface ChatTemplates {
  chat: ChatTemplate | undefined;
  tools: ChatTemplate | undefined;
}

function readChatTemplates(files: ModelFiles, config: TokenizerConfig): ChatTemplates {
  const { bos_token, eos_token, pad_token, unk_token } = config;
  const specialTokens = Object.fromEntries(
    Object.entries({ bos_token, eos_token, pad_token, unk_token }).filter(
      (token): token is [string, string] => typeof token[1] === 'string',
    ),
  );
  const compile = (source: string | undefined, file: string): ChatTemplate | undefined =>
    source === undefined ? undefined : compileChatTemplate(source, file, specialTokens);
  const own = files[fileNames.chatTemplate];
  if (own) {
    const chat = compile(new TextDecoder().decode(own), fileNames.chatTemplate);
    return { chat, tools: chat };
  }
  const listed = config.chat_template ?? undefined;
  const named = (name: string): string | undefined =>
    Array.isArray(listed) ? listed.find((template) => template.name === name)?.template : listed;
  const chat = compile(named('default'), fileNames.tokenizerConfig);
  return { chat, tools: compile(named('tool_use'), fileNames.tokenizerConfig) ?? chat };
}

function applyTemplate(templates: ChatTemplates, ...[messages, options]: Parameters<ChatTemplate>): string {
  const template = options.tools === undefined ? templates.chat : templates.tools;
  if (template) return template(messages, options);
  throw new RekindleError(
    'ModelError',
    `the model has no chat template: neither ${fileNames.chatTemplate} nor chat_template in ${fileNames.tokenizerConfig}`,
    { hint: 'Set prompt.template to raw in the recipe, or use a model that was tuned for chat.' },
  );
}

/** Ids that end a response: those of config.json and generation_config.json, and the tokenizer's own end token. */
function readStopIds(files: ModelFiles, endToken: number | undefined): number[] {
  const stopIds = new Set<number>();
  for (const name of [fileNames.generationConfig, fileNames.config]) {
    const bytes = files[name];
    if (bytes) parseJsonFile(bytes, name, endTokensSchema).eos_token_id.forEach((id) => stopIds.add(id));
  }
  if (endToken !== undefined) stopIds.add(endToken);
  return [...stopIds].sort((a, b) => a - b);
}

/**
 * Builds a tokenizer from tokenizer.json, tokenizer_config.json and, where present, chat_template.jinja,
 * generation_config.json and config.json.
 * @throws RekindleError ModelError when a file is missing, malformed, or of a kind that is not supported.
 */
export function loadTokenizer(files: ModelFiles): Tokenizer {
  const definition = parseJsonFile(
    requiredFile(files, fileNames.tokenizer),
    fileNames.tokenizer,
    tokenizerSchema,
  );
  const config = parseJsonFile(
    requiredFile(files, fileNames.tokenizerConfig),
    fileNames.tokenizerConfig,
    tokenizerConfigSchema,
  );
  let library: TokenizerLibrary;
  try {
    library = new TokenizerLibrary(definition, config);
  } catch (error) {
    throw new RekindleError('ModelError', `${fileNames.tokenizer}: ${(error as Error).message}`, {
      cause: error,
    });
  }
  const special = new Set(definition.added_tokens.filter((token) => token.special).map(({ id }) => id));
  const decode = (ids: number[]): string =>
    ids.length === 0
      ? ''
      : library.decode(ids, { clean_up_tokenization_spaces: config.clean_up_tokenization_spaces ?? false });
  const { vocab } = library.model;
  const templates = readChatTemplates(files, config);

  return {
    vocabSize: vocab.length,
    stopIds: readStopIds(files, config.eos_token == null ? undefined : library.token_to_id(config.eos_token)),
    encode: (text) => library.encode(text, { add_special_tokens: false }).ids,
    decode: (ids) => decode(ids.filter((id) => vocab[id] !== undefined && !special.has(id))),
    token(id) {
      const name = vocab[id];
      if (name === undefined) return `<${id}>`;
      const text = decode([id]);
      // Part of a multi-byte character has no text of its own; its name in the vocabulary tells more.
      return text.includes('\ufffd') ? name : text;
    },
    hasChatTemplate: templates.chat !== undefined,
    applyChatTemplate: (messages, options) => applyTemplate(templates, messages, options),
  };
}
