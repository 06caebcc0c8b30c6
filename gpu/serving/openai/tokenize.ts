/** Text to token ids and back, exactly: nothing is added. */
import { z } from 'zod';
import { tokenIds } from '../fields.ts';
import type { Exchange } from '../http/exchange.ts';
import { parseBody } from '../http/http-error.ts';
import { checkModelName, checkTokenIds, encodeText } from '../served-model.ts';
import type { Serving } from '../serving.ts';
import { TokenText } from '../token-text.ts';

const tokenizeSchema = z.strictObject({
  model: z.string().optional(),
  prompt: z.string(),
  add_special_tokens: z.literal(false).optional(),
});

export async function tokenize({ model }: Serving, exchange: Exchange): Promise<void> {
  const body = parseBody(tokenizeSchema, await exchange.json());
  checkModelName(model, body.model);
  const tokens = encodeText(model, body.prompt, 'prompt');
  exchange.sendJson(200, { tokens, count: tokens.length, max_model_len: model.config.maxPositions });
}

const detokenizeSchema = z.strictObject({
  model: z.string().optional(),
  tokens: tokenIds,
  skip_special_tokens: z.boolean().default(true),
});

export async function detokenize({ model }: Serving, exchange: Exchange): Promise<void> {
  const body = parseBody(detokenizeSchema, await exchange.json());
  checkModelName(model, body.model);
  checkTokenIds(model, body.tokens, 'tokens');
  const text = new TokenText(model.tokenizer, !body.skip_special_tokens);
  exchange.sendJson(200, { text: text.push(body.tokens) + text.end() });
}
