/** What a model is: architecture, tensors, tokenizer, and the memory that the embedded engine needs for it. */
import { parameterCount } from '../core/model-shape.ts';
import type { OpenedModel } from '../gpu/model/opened-model.ts';
import { openModel } from '../gpu/model/open-model.ts';
import type { StoredTensor } from '../gpu/model/stored-tensors.ts';
import { formatCount } from '../activities/report/format.ts';
import { formatBytes } from './render-plan.ts';
import { formatTable } from './terminal/table.ts';

const floatBytes = 4;

export interface Inspection {
  path: string;
  config: OpenedModel['config'];
  parameters: number;
  /** Bytes on disk by dtype. */
  dtypes: Record<string, number>;
  tensors: StoredTensor[];
  tokenizer: { vocabSize: number; stopTokens: { id: number; text: string }[]; chatTemplate: boolean };
  memory: {
    /** Float32 weights. */
    generateBytes: number;
    /** Keys and values of one token of one sequence, besides. */
    keyValueBytesPerToken: number;
    /** Weights, gradients and the two moments of AdamW; activations, which depend on the batch, besides. */
    trainBytes: number;
  };
}

/** @throws RekindleError ModelError when the model cannot be used. */
export async function inspectModel(path: string): Promise<Inspection> {
  const { config, tokenizer, openWeights } = await openModel(path);
  const weights = await openWeights();
  await weights.close();
  const tensors = [...weights.tensors.values()];
  const dtypes: Record<string, number> = {};
  for (const { dtype, bytes } of tensors) dtypes[dtype] = (dtypes[dtype] ?? 0) + bytes;
  const parameters = parameterCount(config);
  return {
    path,
    config,
    parameters,
    dtypes,
    tensors,
    tokenizer: {
      vocabSize: tokenizer.vocabSize,
      stopTokens: tokenizer.stopIds.map((id) => ({ id, text: tokenizer.token(id) })),
      chatTemplate: tokenizer.hasChatTemplate,
    },
    memory: {
      generateBytes: parameters * floatBytes,
      keyValueBytesPerToken: 2 * config.layers * config.kvHeads * config.headSize * floatBytes,
      trainBytes: 4 * parameters * floatBytes,
    },
  };
}

export function renderInspection({
  path,
  config,
  parameters,
  dtypes,
  tensors,
  tokenizer,
  memory,
}: Inspection): string {
  const stops = tokenizer.stopTokens.map(({ id, text }) => `${id} ${JSON.stringify(text)}`).join(', ');
  const facts = formatTable([
    ['model', path],
    [
      'architecture',
      `${config.family}: ${config.layers} layers of ${config.hiddenSize}, ${config.heads}/${config.kvHeads} heads of ${config.headSize}`,
    ],
    ['parameters', formatCount(parameters)],
    [
      'on disk',
      Object.entries(dtypes)
        .map(([dtype, bytes]) => `${dtype} ${formatBytes(bytes)}`)
        .join(', '),
    ],
    ['context', `${config.maxPositions} tokens`],
    ['tokenizer', `${tokenizer.vocabSize} tokens, stops at ${stops || 'none'}`],
    ['chat template', tokenizer.chatTemplate ? 'yes' : 'no'],
    [
      'to generate',
      `${formatBytes(memory.generateBytes)}, and ${formatBytes(memory.keyValueBytesPerToken)} a token of each sequence`,
    ],
    ['to train', `${formatBytes(memory.trainBytes)}, and activations`],
  ]);
  const table = formatTable(
    tensors.map(({ name, dtype, shape, bytes }) => [name, dtype, shape.join(' × '), formatBytes(bytes)]),
    ['tensor', 'dtype', 'shape', 'bytes'],
  );
  return `${facts}\n\n${table}`;
}
