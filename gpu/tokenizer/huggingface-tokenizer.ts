/** A tokenizer from the files of a Hugging Face model folder. */
import { z } from 'zod';
import { RekindleError } from '../../core/errors.ts';
import { tokenIdsSchema } from '../model/raw-config.ts';
import { fileNames, parseJsonFile, requiredFile, type ModelFiles } from '../model/model-files.ts';
import { compileChatTemplate, type ChatTemplate } from './chat-template.ts';
import { makeTokenCodec, tokenizerDefinitionSchema } from './token-codec.ts';
import type { Tokenizer } from './tokenizer.ts';

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

/** What transformers does to decoded text where `clean_up_tokenization_spaces` is set. */
function withoutSpaceBeforePunctuation(text: string): string {
  return text
    .replace(/ ([.?!,])/g, '$1')
    .replaceAll(" ' ", "'")
    .replace(/ (n't|'m|'s|'ve|'re)/g, '$1');
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
    tokenizerDefinitionSchema,
  );
  const config = parseJsonFile(
    requiredFile(files, fileNames.tokenizerConfig),
    fileNames.tokenizerConfig,
    tokenizerConfigSchema,
  );
  const codec = makeTokenCodec(definition);
  const special = new Set(definition.added_tokens.filter((token) => token.special).map(({ id }) => id));
  const { vocab } = codec;
  const decode = (ids: readonly number[]): string => {
    const text = codec.decode(ids.filter((id) => vocab[id] !== undefined));
    return config.clean_up_tokenization_spaces ? withoutSpaceBeforePunctuation(text) : text;
  };
  const templates = readChatTemplates(files, config);

  return {
    vocabSize: vocab.length,
    stopIds: readStopIds(files, config.eos_token == null ? undefined : codec.idOf(config.eos_token)),
    encode: (text) => codec.encode(text),
    decode: (ids) => decode(ids.filter((id) => !special.has(id))),
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
