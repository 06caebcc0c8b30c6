/** `/v1/completions` of OpenAI's API. */
import type { Exchange } from '../http/exchange.ts';
import { badField, parseBody } from '../http/http-error.ts';
import { respond, type Asked, type Response } from '../respond.ts';
import { checkModelName, encodeText, newTokens, type ServedModel } from '../served-model.ts';
import type { Serving } from '../serving.ts';
import { TokenText } from '../token-text.ts';
import { askedOf, envelope, fingerprint, tokenLogprobs, usage } from './common.ts';
import { completionsSchema, promptsOf, type CompletionsBody, type Prompt } from './completions-body.ts';
import { together } from '../together.ts';

const defaultMaxTokens = 16;

interface Prepared {
  text: string;
  ids: number[];
  asked: Asked;
  /** Number of the first choice among those of all prompts. */
  index: number;
}

export async function completions(serving: Serving, exchange: Exchange): Promise<void> {
  const { model } = serving;
  const body = parseBody(completionsSchema, await exchange.json());
  checkModelName(model, body.model);
  if (body.stream && body.echo && body.logprobs != null) {
    throw badField('echo', 'with logprobs is not streamed, expected stream: false');
  }
  const prepared = promptsOf(body).map((prompt, i) => prepare(model, body, prompt, i));
  const promptTokens = prepared.reduce((total, { ids }) => total + ids.length, 0);
  const head = envelope('cmpl', 'text_completion', model.name, body.rid);
  const ask = (
    { ids, asked }: Prepared,
    signal: AbortSignal,
    onNews?: Parameters<typeof respond>[1]['onNews'],
  ) => respond(serving, { id: head.id, ids, asked, signal, ...(onNews && { onNews }) });

  if (!body.stream) {
    const answers = await together(prepared, exchange.signal, ask);
    const choices = answers.flatMap((responses, i) =>
      responses.map((response) => choice(model, body, prepared[i]!, response)),
    );
    exchange.sendJson(200, {
      ...head,
      choices,
      usage: usage(promptTokens, answers.flat()),
      system_fingerprint: fingerprint(answers[0]![0]!.weightVersion),
    });
    return;
  }

  const withUsage = body.stream_options?.include_usage ?? false;
  await exchange.stream(async (events) => {
    const send = (choices: object[], rest: object): void => events.send({ ...head, choices, ...rest });
    const answers = await together(prepared, exchange.signal, (prompt, signal) => {
      const given = Array.from({ length: prompt.asked.samples }, () => ({ text: 0, tokens: 0 }));
      return ask(prompt, signal, (text, soFar) => {
        if (signal.aborted) return;
        const before = given[soFar.sample]!;
        const part = choice(model, body, prompt, soFar, before, text);
        given[soFar.sample] = { text: before.text + part.text.length, tokens: soFar.ids.length };
        send([part], {
          system_fingerprint: fingerprint(soFar.weightVersion),
          ...(withUsage && { usage: null }),
        });
      });
    });
    if (withUsage) send([], { usage: usage(promptTokens, answers.flat()) });
  });
}

function prepare(model: ServedModel, body: CompletionsBody, prompt: Prompt, i: number): Prepared {
  const ids = prompt.ids ?? encodeText(model, prompt.text!, prompt.param);
  const maxTokens = newTokens(model, ids, body.max_tokens ?? defaultMaxTokens, prompt.param);
  const asked = askedOf(body, maxTokens, body.logprobs ?? null);
  if (body.echo && body.logprobs != null) asked.report.promptLogprobs = true;
  const everything = new TokenText(model.tokenizer, true);
  return {
    text: prompt.text ?? everything.push(ids) + everything.end(),
    ids,
    asked,
    index: i * asked.samples,
  };
}

/** The choice that a response makes, or what is new of it since `before`. */
function choice(
  model: ServedModel,
  body: CompletionsBody,
  prompt: Prepared,
  response: Response,
  before = { text: 0, tokens: 0 },
  text = response.text,
) {
  const echoed = body.echo && before.text === 0 && before.tokens === 0 ? prompt.text : '';
  return {
    index: prompt.index + response.sample,
    text: echoed + text,
    logprobs: body.logprobs == null ? null : logprobsOf(model, body, prompt, response, before),
    finish_reason: response.finish,
  };
}

/** Four lists with an entry a token. */
function logprobsOf(
  { tokenizer }: ServedModel,
  body: CompletionsBody,
  prompt: Prepared,
  response: Response,
  before: { text: number; tokens: number },
) {
  const echoed =
    body.echo && before.tokens === 0
      ? prompt.ids.map((id, i) => ({
          id,
          logprob: i === 0 ? null : (response.promptLogprobs?.[i - 1] ?? null),
          top: null,
        }))
      : [];
  const entries = [...echoed, ...tokenLogprobs(response, before.tokens)];
  const tokens = entries.map(({ id }) => tokenizer.token(id));
  let offset = before.text;
  return {
    tokens,
    token_logprobs: entries.map(({ logprob }) => logprob),
    top_logprobs: body.logprobs === 0 ? null : entries.map(({ top }) => top && byText(top)),
    text_offset: tokens.map((token) => (offset += token.length) - token.length),
  };

  function byText(top: readonly { id: number; logprob: number }[]): Record<string, number> {
    return Object.fromEntries(top.map(({ id, logprob }) => [tokenizer.token(id), logprob]));
  }
}
