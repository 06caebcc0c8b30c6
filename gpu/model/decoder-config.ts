/** The shape of a Llama-architecture decoder: RMSNorm, rotary positions, grouped-query attention, SwiGLU, tied head. */
export interface DecoderConfig {
  vocabSize: number;
  hiddenSize: number;
  layers: number;
  /** Query heads; a multiple of `kvHeads`. */
  heads: number;
  kvHeads: number;
  headSize: number;
  feedForwardSize: number;
  ropeTheta: number;
  normEpsilon: number;
  /** Longest sequence in tokens. */
  maxPositions: number;
}
