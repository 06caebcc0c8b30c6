/** The body of `/generate`, one request or a batch, as a list of single requests. */
import { z } from 'zod';
import {
  ignored,
  probability,
  samplesLimit,
  seed,
  stopStrings,
  stopTokenIds,
  temperature,
  tokenIds,
  unsupported,
} from '../fields.ts';
import { badField, parseBody } from '../http/http-error.ts';
import type { LogprobsAsked } from './logprobs.ts';

const samplingParams = z
  .strictObject({
    temperature: temperature(100).default(1),
    top_p: probability.default(1),
    /** -1 means all. */
    top_k: z.union([z.literal(-1), z.int().positive()]).default(-1),
    min_p: z.number().min(0).max(1).default(0),
    max_new_tokens: z.int().nonnegative().default(128),
    stop: stopStrings,
    stop_token_ids: stopTokenIds,
    ignore_eos: z.boolean().default(false),
    skip_special_tokens: z.boolean().default(true),
    no_stop_trim: z.boolean().default(false),
    n: z.int().positive().max(samplesLimit).default(1),
    sampling_seed: seed,
    spaces_between_special_tokens: z.boolean().optional(),
    min_new_tokens: unsupported(0),
    frequency_penalty: unsupported(0),
    presence_penalty: unsupported(0),
    repetition_penalty: unsupported(1),
    stop_regex: unsupported([]),
    json_schema: unsupported(),
    regex: unsupported(),
    ebnf: unsupported(),
    structural_tag: unsupported(),
    logit_bias: unsupported({}),
    custom_params: unsupported({}),
  })
  .prefault({});

const oneOrMany = <T extends z.ZodType>(field: T) => z.union([field, z.array(field)]).nullish();

const bodySchema = z.strictObject({
  rid: oneOrMany(z.string().min(1)),
  text: z.union([z.string(), z.array(z.string()).nonempty()]).nullish(),
  input_ids: z.union([tokenIds, z.array(tokenIds).nonempty()]).nullish(),
  sampling_params: z.union([samplingParams, z.array(samplingParams)]).nullish(),
  return_logprob: oneOrMany(z.boolean()),
  logprob_start_len: oneOrMany(z.int().min(-1)),
  top_logprobs_num: oneOrMany(z.int().min(0).max(20)),
  return_text_in_logprobs: z.boolean().default(false),
  stream: z.boolean().default(false),
  token_ids_logprob: unsupported(),
  return_hidden_states: unsupported(false),
  return_routed_experts: unsupported(false),
  return_prompt_token_ids: unsupported(false),
  input_embeds: unsupported(),
  image_data: unsupported(),
  audio_data: unsupported(),
  video_data: unsupported(),
  lora_path: unsupported(),
  session_params: unsupported(),
  custom_logit_processor: unsupported(),
  priority: ignored,
  log_metrics: ignored,
  stream_options: ignored,
});

export type SamplingParams = z.infer<typeof samplingParams>;

export interface SingleRequest {
  /** Null for one without a name. */
  rid: string | null;
  prompt: { text: string } | { ids: number[] };
  /** The field that holds the prompt, for errors. */
  param: string;
  sampling: SamplingParams;
  logprobs: LogprobsAsked | null;
}

export interface GenerateBody {
  requests: SingleRequest[];
  /** Whether the answer is a list. */
  isBatch: boolean;
  stream: boolean;
}

/** @throws HttpError 400 that names the field. */
export function parseGenerateBody(value: unknown): GenerateBody {
  const body = parseBody(bodySchema, value);
  const { text, input_ids: inputIds } = body;
  if ((text == null) === (inputIds == null)) {
    throw badField('text', 'and input_ids: expected exactly one of the two');
  }
  const { prompts, isBatch, param } = text != null ? promptsOfText(text) : promptsOfIds(inputIds!);
  const at = <T>(field: string, values: T | T[] | null | undefined, index: number, otherwise: T): T => {
    if (!Array.isArray(values)) return values ?? otherwise;
    if (values.length !== prompts.length) {
      throw badField(
        field,
        `has ${values.length} entries, expected one for each of ${prompts.length} prompts`,
      );
    }
    return values[index] as T;
  };
  const { rid } = body;
  if (isBatch && typeof rid === 'string') {
    throw badField('rid', 'is one name, expected a list with one for each prompt');
  }
  const requests = prompts.map((prompt, index): SingleRequest => {
    const wanted = at('return_logprob', body.return_logprob, index, false);
    return {
      rid: at<string | null>('rid', rid, index, null),
      prompt,
      param: isBatch ? `${param}.${index}` : param,
      sampling: at('sampling_params', body.sampling_params, index, samplingParams.parse(undefined)),
      logprobs: wanted
        ? {
            start: at('logprob_start_len', body.logprob_start_len, index, -1),
            top: at('top_logprobs_num', body.top_logprobs_num, index, 0),
            text: body.return_text_in_logprobs,
          }
        : null,
    };
  });
  return { requests, isBatch, stream: body.stream };
}

type Prompts = Pick<GenerateBody, 'isBatch'> & { prompts: SingleRequest['prompt'][]; param: string };

function promptsOfText(text: string | string[]): Prompts {
  const isBatch = Array.isArray(text);
  return { prompts: (isBatch ? text : [text]).map((one) => ({ text: one })), isBatch, param: 'text' };
}

function promptsOfIds(ids: number[] | number[][]): Prompts {
  const isBatch = Array.isArray(ids[0]);
  const lists = (isBatch ? ids : [ids]) as number[][];
  return { prompts: lists.map((one) => ({ ids: one })), isBatch, param: 'input_ids' };
}
