/** What is served, as every endpoint sees it. */
import type { DecoderConfig } from '../model/decoder-config.ts';
import type { Tokenizer } from '../tokenizer/index.ts';
import { badField, HttpError } from './http/http-error.ts';
import type { ToolCallFormat } from './tool-calls/tool-call-format.ts';

export interface ServedModel {
  /** What requests call it. */
  name: string;
  /** Where it came from, as the one who serves it named it. */
  path: string;
  config: DecoderConfig;
  tokenizer: Tokenizer;
  /** How the model writes tool calls; null when it has no way to. */
  toolCalls: ToolCallFormat | null;
}

/** @throws HttpError 404 when a request names another model. */
export function checkModelName(model: ServedModel, name: string | undefined): void {
  if (name === undefined || name === model.name || name === 'default') return;
  throw new HttpError(404, `The model '${name}' does not exist, expected '${model.name}'`, {
    param: 'model',
    code: 'model_not_found',
  });
}

/** Longer text than any prompt that fits; splitting it into tokens would keep everyone else waiting. */
const charactersPerPosition = 16;

/** The tokens of a text. @throws HttpError 400 that names `param` when it is too long to be looked at. */
export function encodeText({ config, tokenizer }: ServedModel, text: string, param: string): number[] {
  const most = charactersPerPosition * config.maxPositions;
  if (text.length <= most) return tokenizer.encode(text);
  throw badField(
    param,
    `has ${text.length} characters, expected at most ${most} for a context of ${config.maxPositions} tokens`,
    'context_length_exceeded',
  );
}

/** @throws HttpError 400 that names `param` and an id that the model has not. */
export function checkTokenIds(
  { config: { vocabSize } }: ServedModel,
  ids: readonly number[],
  param: string,
): void {
  const wrong = ids.find((id) => id >= vocabSize);
  if (wrong === undefined) return;
  throw badField(param, `holds the token id ${wrong}, expected at most ${vocabSize - 1}`);
}

/**
 * Checks the tokens of a prompt, and says how many new ones a request gets.
 * @param asked null for as many as there is room for
 * @throws HttpError 400 that names `param` when there are none, too many, or ids that the model has not.
 */
export function newTokens(
  model: ServedModel,
  ids: readonly number[],
  asked: number | null,
  param: string,
): number {
  if (ids.length === 0) throw badField(param, 'has no tokens, expected at least one');
  checkTokenIds(model, ids, param);
  const { maxPositions } = model.config;
  const room = maxPositions - ids.length;
  if (room < (asked ?? 1)) {
    throw badField(
      param,
      `has ${ids.length} tokens; with ${asked ?? 1} new ones that is more than the context length of ${maxPositions}`,
      'context_length_exceeded',
    );
  }
  return asked ?? room;
}
