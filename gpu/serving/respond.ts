/** The responses to one prompt: tokens through the engine, text as it becomes certain. Every protocol is a view of this. */
import type { Completion, GenerationRequest, Sampling } from '../engine-port.ts';
import { requestSeeds } from './request-seeds.ts';
import { ResponseText, type ResponseTextRules } from './response-text.ts';
import type { Serving } from './serving.ts';

/** What a caller asks for beside the prompt, whatever the protocol. */
export interface Asked {
  temperature: number;
  topP: number;
  /** 0 means all. */
  topK: number;
  minP: number;
  /** 0 asks for nothing but the log-probs of the prompt. */
  maxNewTokens: number;
  stopStrings: readonly string[];
  stopTokenIds: readonly number[];
  /** Whether to go on past the tokens that end a response of this model. */
  ignoreEndTokens: boolean;
  samples: number;
  /** Undefined for fresh randomness. */
  seed: number | undefined;
  keepSpecialTokens: boolean;
  /** Whether what stopped the response stays in its text. */
  keepStop: boolean;
  report: NonNullable<GenerationRequest['report']>;
}

/** A response as far as it has come. */
export interface Response extends Omit<Completion, 'prompt' | 'finish'> {
  text: string;
  /** Null while it goes on. */
  finish: Completion['finish'] | null;
  /** The token id or stop string that ended it; null when it ended otherwise. */
  matched: number | string | null;
  weightVersion: string;
}

export interface PromptRequest {
  id: string;
  ids: readonly number[];
  asked: Asked;
  signal: AbortSignal;
  /** Hears of new text, with the response that it belongs to; text may come later than its tokens. */
  onNews?: (text: string, soFar: Response) => void;
}

/** @returns the responses by sample. @throws HttpError or RekindleError as the dispatcher. */
export async function respond(
  { model: { tokenizer }, dispatcher }: Serving,
  { id, ids, asked, signal, onNews }: PromptRequest,
): Promise<Response[]> {
  const stopIds = new Set([...(asked.ignoreEndTokens ? [] : tokenizer.stopIds), ...asked.stopTokenIds]);
  const rules: ResponseTextRules = { ...asked, stopIds };
  const parts = Array.from({ length: asked.samples }, (_, sample) => ({
    text: new ResponseText(tokenizer, rules),
    soFar: begun(sample),
  }));

  const completed = (completion: Completion): void => {
    const { text, soFar } = parts[completion.sample]!;
    // Without news of tokens the text is still to be made.
    let rest = soFar.ids.length === 0 ? text.push(completion.ids) : '';
    rest += text.end();
    const last = completion.ids.at(-1);
    const stoppedBy = last !== undefined && stopIds.has(last) ? last : text.matched;
    const { prompt: _, ...results } = completion;
    Object.assign(soFar, results, {
      text: soFar.text + rest,
      matched: completion.finish === 'stop' ? stoppedBy : null,
    });
    onNews?.(rest, soFar);
  };

  await dispatcher.generate(
    {
      id,
      prompts: [{ ids, seeds: requestSeeds(asked.seed, asked.samples) }],
      sampling: samplingOf(asked, stopIds),
      report: asked.report,
    },
    signal,
    {
      onBegin: (weightVersion) => parts.forEach(({ soFar }) => (soFar.weightVersion = weightVersion)),
      onCompletions: (completions) => completions.forEach(completed),
      ...(onNews && {
        onTokens: (deltas) => {
          for (const delta of deltas) {
            const { text, soFar } = parts[delta.sample]!;
            const news = text.push(delta.ids);
            soFar.text += news;
            soFar.ids.push(...delta.ids);
            soFar.logprobs.push(...delta.logprobs);
            if (delta.untemperedLogprobs) (soFar.untemperedLogprobs ??= []).push(...delta.untemperedLogprobs);
            if (delta.topLogprobs) (soFar.topLogprobs ??= []).push(...delta.topLogprobs);
            onNews(news, soFar);
          }
        },
      }),
    },
  );
  return parts.map(({ soFar }) => soFar);
}

function begun(sample: number): Response {
  return { sample, text: '', ids: [], logprobs: [], finish: null, matched: null, weightVersion: '' };
}

function samplingOf(asked: Asked, stopIds: ReadonlySet<number>): Sampling {
  const { temperature, topK, topP, minP, maxNewTokens, stopStrings } = asked;
  return { temperature, topK, topP, minP, maxNewTokens, stopIds: [...stopIds], stopStrings };
}
