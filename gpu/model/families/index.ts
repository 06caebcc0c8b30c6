/** The supported families, by config.json's `model_type`. */
import type { DecoderFamily } from '../decoder-config.ts';
import type { Family } from './family.ts';
import { llama } from './llama.ts';
import { mistral } from './mistral.ts';
import { qwen2 } from './qwen2.ts';
import { qwen3 } from './qwen3.ts';

export const families: Readonly<Record<DecoderFamily, Family>> = { llama, mistral, qwen2, qwen3 };
