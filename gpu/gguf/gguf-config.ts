/** The config.json of the model in a GGUF file. What it says is checked where any config.json is. */
import type { GgufHeader } from './gguf-header.ts';
import type { GgufKeys } from './gguf-metadata.ts';

/** GGUF's name of the architecture to `model_type` and class; Mistral models are called llama there. */
const architectures = {
  llama: { model_type: 'llama', architectures: ['LlamaForCausalLM'] },
  qwen2: { model_type: 'qwen2', architectures: ['Qwen2ForCausalLM'] },
  qwen3: { model_type: 'qwen3', architectures: ['Qwen3ForCausalLM'] },
} as const;
export type GgufArchitecture = keyof typeof architectures;

export function architectureOf(keys: GgufKeys): GgufArchitecture {
  const name = keys.text('general.architecture');
  if (Object.hasOwn(architectures, name)) return name as GgufArchitecture;
  return keys.refuse(
    `general.architecture is "${name}", supported are ${Object.keys(architectures).join(', ')}`,
  );
}

const two_pi = 2 * Math.PI;
const llama3 = { low_freq_factor: 1, high_freq_factor: 4, original_max_position_embeddings: 8192 };

/** By what Llama 3's scaling divides a rotary frequency. */
function llama3Divisor(frequency: number, factor: number): number {
  const { low_freq_factor: low, high_freq_factor: high, original_max_position_embeddings: original } = llama3;
  const turns = (original * frequency) / two_pi;
  if (turns > high) return 1;
  if (turns < low) return factor;
  const smooth = (turns - low) / (high - low);
  return 1 / ((1 - smooth) / factor + smooth);
}

/** The settings that make these factors. GGUF keeps the factors only; every Llama 3 model has the other settings alike. */
function llama3Scaling(keys: GgufKeys, factors: Float32Array, theta: number): object {
  const factor = Math.max(...factors);
  const agrees = factors.every((found, i) => {
    const expected = llama3Divisor(theta ** (-i / factors.length), factor);
    return Math.abs(found - expected) <= 1e-3 * expected;
  });
  if (!agrees)
    keys.refuse(`rope_freqs.weight holds factors that are not those of Llama 3's scaling by ${factor}`);
  return { rope_type: 'llama3', factor, ...llama3 };
}

function ropeScaling(keys: GgufKeys, prefix: string): object | null {
  const type = keys.findText(`${prefix}.rope.scaling.type`) ?? 'none';
  if (type === 'none') return null;
  if (type === 'linear') return { rope_type: 'linear', factor: keys.number(`${prefix}.rope.scaling.factor`) };
  return keys.refuse(`metadata ${prefix}.rope.scaling.type is "${type}", supported are none, linear`);
}

/** Mistral's window is told by a key of its own, in a file whose architecture is llama. */
function attentionWindow(keys: GgufKeys, architecture: GgufArchitecture): object {
  const window = keys.findNumber(`${architecture}.attention.sliding_window`) ?? 0;
  if (window === 0) return {};
  if (architecture === 'llama') {
    return { model_type: 'mistral', architectures: ['MistralForCausalLM'], sliding_window: window };
  }
  return { use_sliding_window: true, sliding_window: window, max_window_layers: 0 };
}

/** @param ropeFactors the tensor rope_freqs.weight, where there is one */
export function ggufConfig(
  keys: GgufKeys,
  { tensors }: GgufHeader,
  ropeFactors: Float32Array | undefined,
): Record<string, unknown> {
  const prefix = architectureOf(keys);
  const number = (key: string): number => keys.number(`${prefix}.${key}`);
  const find = (key: string): number | undefined => keys.findNumber(`${prefix}.${key}`);
  const embedding =
    tensors.find(({ name }) => name === 'token_embd.weight') ??
    keys.refuse("has no tensor 'token_embd.weight'");
  if ((find('expert_count') ?? 0) > 0)
    keys.refuse(`metadata ${prefix}.expert_count: mixtures of experts are not supported`);
  const heads = number('attention.head_count');
  const headSize = find('attention.key_length') ?? number('embedding_length') / heads;
  const rotated = find('rope.dimension_count') ?? headSize;
  if (rotated !== headSize) {
    keys.refuse(`metadata ${prefix}.rope.dimension_count is ${rotated}, expected the head size, ${headSize}`);
  }
  const theta = find('rope.freq_base') ?? 10_000;
  return {
    ...architectures[prefix],
    ...attentionWindow(keys, prefix),
    vocab_size: embedding.shape[0],
    hidden_size: number('embedding_length'),
    intermediate_size: number('feed_forward_length'),
    num_hidden_layers: number('block_count'),
    num_attention_heads: heads,
    num_key_value_heads: find('attention.head_count_kv') ?? heads,
    head_dim: headSize,
    max_position_embeddings: number('context_length'),
    // A float32 in the file, a decimal fraction where the model was made.
    rms_norm_eps: Number(number('attention.layer_norm_rms_epsilon').toPrecision(6)),
    rope_theta: theta,
    rope_scaling: ropeFactors ? llama3Scaling(keys, ropeFactors, theta) : ropeScaling(keys, prefix),
    hidden_act: 'silu',
    tie_word_embeddings: !tensors.some(({ name }) => name === 'output.weight'),
    bos_token_id: keys.findNumber('tokenizer.ggml.bos_token_id') ?? null,
    eos_token_id: endTokenIds(keys),
    torch_dtype: 'float32',
  };
}

/** Tokens that end a text or a turn. */
export function endTokenIds(keys: GgufKeys): number[] {
  const ids = ['eos', 'eot'].map((name) => keys.findNumber(`tokenizer.ggml.${name}_token_id`));
  return [...new Set(ids.filter((id) => id !== undefined))];
}
