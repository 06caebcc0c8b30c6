/**
 * What a decoder computes: RMSNorm, rotary positions, grouped-query attention and SwiGLU, with the options in which the
 * supported families (Llama, Mistral, Qwen2, Qwen3) differ. Graphs read the options and never ask for the family, which only
 * decides the architecture's name on disk.
 */
export type DecoderFamily = 'llama' | 'mistral' | 'qwen2' | 'qwen3';

/** How rotary frequencies are stretched for contexts longer than those of pre-training. */
export type RopeScaling =
  | { kind: 'linear'; factor: number }
  | {
      kind: 'llama3';
      factor: number;
      lowFrequencyFactor: number;
      highFrequencyFactor: number;
      originalMaxPositions: number;
    };

export interface DecoderConfig {
  family: DecoderFamily;
  vocabSize: number;
  hiddenSize: number;
  layers: number;
  /** Query heads; a multiple of `kvHeads`. */
  heads: number;
  kvHeads: number;
  headSize: number;
  feedForwardSize: number;
  ropeTheta: number;
  ropeScaling: RopeScaling | null;
  normEpsilon: number;
  /** Longest sequence in tokens. */
  maxPositions: number;
  /** The head is the embedding's matrix; otherwise a matrix of its own. */
  tiedHead: boolean;
  /** Query, key and value projections add a bias. */
  attentionBias: boolean;
  /** Each query and key head passes an RMSNorm before the rotary encoding. */
  queryKeyNorm: boolean;
  /** Tokens that a token attends to, itself included; null means all before it. */
  attentionWindow: number | null;
}

/** The options of a Llama with a tied head. */
export const plainLlama = {
  family: 'llama',
  ropeScaling: null,
  tiedHead: true,
  attentionBias: false,
  queryKeyNorm: false,
  attentionWindow: null,
} as const satisfies Partial<DecoderConfig>;
