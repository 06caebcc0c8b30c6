/** adapter_config.json as PEFT reads and writes it: which numbers belong to an adapter, and which options ours cannot follow. */
import { z } from 'zod';
import { RekindleError } from '../../core/errors.ts';
import { adapterModules, type AdapterSettings } from '../../core/recipe.ts';
import { jsonFile } from '../model/model-files.ts';

export const adapterFileNames = { weights: 'adapter_model.safetensors', config: 'adapter_config.json' };

/** What a file of adapter weights does not tell by itself. */
export type AdapterNumbers = Pick<AdapterSettings, 'rank' | 'alpha' | 'rankStabilized'>;

const absent = z.literal([null, false]).optional();
const nothing = z.union([absent, z.strictObject({}), z.array(z.never())]);

const schema = z.looseObject({
  peft_type: z.literal('LORA'),
  r: z.number().int().positive(),
  lora_alpha: z.number().positive(),
  use_rslora: z.boolean().default(false),
  bias: z.literal('none').default('none'),
  fan_in_fan_out: absent,
  use_dora: absent,
  use_qalora: absent,
  lora_bias: absent,
  rank_pattern: nothing,
  alpha_pattern: nothing,
  layers_to_transform: nothing,
  layer_replication: nothing,
  target_parameters: nothing,
  trainable_token_indices: nothing,
  alora_invocation_tokens: nothing,
  modules_to_save: z.array(z.enum(['score', 'classifier'])).nullish(),
  // The others change the base when the adapter is made, so the file alone does not say what they add.
  init_lora_weights: z.union([z.boolean(), z.enum(['gaussian', 'orthogonal', 'eva'])]).optional(),
});

/** @throws RekindleError ModelError that names the file, the option, its value and what was expected. */
export function parseAdapterConfig(text: string, path: string): AdapterNumbers {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new RekindleError('ModelError', `${path} is not JSON: ${(error as Error).message}`);
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) {
    const { r: rank, lora_alpha: alpha, use_rslora: rankStabilized } = parsed.data;
    return { rank, alpha, rankStabilized };
  }
  const [issue] = parsed.error.issues;
  const key = String(issue!.path[0] ?? 'the file');
  const found = JSON.stringify((value as Record<string, unknown> | null)?.[key]) ?? 'missing';
  throw new RekindleError('ModelError', `${path}: ${key} is ${found}, which is not supported`, {
    hint: 'Plain LoRA adapters are: one rank and one alpha for all modules, without biases, DoRA or modules of their own.',
  });
}

/**
 * The file's bytes.
 * @param options.scored The adapter carries the score of a value or reward head.
 * @param options.baseModel Where PEFT may find the base; null leaves that to whoever loads the adapter.
 */
export function adapterConfigFile(
  { rank, alpha, targets, rankStabilized }: AdapterSettings,
  options: { scored: boolean; baseModel: string | null },
): Uint8Array {
  return jsonFile({
    peft_type: 'LORA',
    task_type: options.scored ? 'SEQ_CLS' : 'CAUSAL_LM',
    base_model_name_or_path: options.baseModel,
    r: rank,
    lora_alpha: alpha,
    lora_dropout: 0,
    target_modules: adapterModules.filter((module) => targets === 'all-linear' || targets.includes(module)),
    use_rslora: rankStabilized,
    bias: 'none',
    fan_in_fan_out: false,
    init_lora_weights: true,
    modules_to_save: options.scored ? ['score'] : null,
    inference_mode: true,
  });
}
