/**
 * The engine port: what a rollout or training worker asks of whatever holds the weights.
 * Weights are known by a tag (the hash of their artifact). An engine holds them as a cache: asked for a tag that it does not
 * hold, it says so (EngineError "weights not loaded"), and the caller loads them.
 */
import type { DeviceName } from '../core/devices.ts';
import type { Seed } from '../core/seeds.ts';
import type { LossSettings } from '../core/loss/settings.ts';

/** A weight set and the safetensors file that it can be loaded from: full weights, or an adapter that adds to a base. */
export interface WeightsSource {
  /** In one engine, the tag of an adapter stands for its base too. */
  tag: string;
  path: string;
  /** The full weights that an adapter adds to. */
  base?: { tag: string; path: string };
}

export interface Sampling {
  /** 0 means greedy. */
  temperature: number;
  /** 0 means all. */
  topK: number;
  topP: number;
  /** Tokens less likely than minP times the likeliest are left out; 0 (the default) means none. */
  minP?: number;
  maxNewTokens: number;
  stopIds: readonly number[];
  /** A response also ends with the token whose text completes one of these. */
  stopStrings?: readonly string[];
}

export interface GenerationRequest {
  weights: string;
  /** Each prompt is prefilled once and sampled once per seed. */
  prompts: { ids: readonly number[]; seeds: readonly Seed[] }[];
  sampling: Sampling;
  /** Also report the log-probs that are only worked out on request. */
  report?: {
    promptLogprobs?: boolean;
    samplingLogprobs?: boolean;
    untemperedLogprobs?: boolean;
    topLogprobs?: number;
  };
  /** Seconds between two reports of new tokens from an engine in another process; without it each step is told as it comes. */
  tellEvery?: number;
  /** What an abort does to unfinished samples: drop them and reject (default), or complete them with finish `abort`. */
  onAbort?: 'reject' | 'complete';
}

/** New tokens of one sample, as they come, with what was asked for of each. */
export type TokenDelta = Pick<
  Completion,
  'prompt' | 'sample' | 'ids' | 'logprobs' | 'samplingLogprobs' | 'untemperedLogprobs' | 'topLogprobs'
>;

export interface Completion {
  prompt: number;
  sample: number;
  ids: number[];
  /** Log-probs of `ids` under softmax(logits / temperature), the full softmax even with top-k or top-p; temperature 1 when greedy. */
  logprobs: number[];
  finish: 'stop' | 'length' | 'abort';
  /** On request: of the distribution that was sampled from, after top-k, top-p and min-p. */
  samplingLogprobs?: number[];
  /** On request: of softmax(logits), whatever the temperature. */
  untemperedLogprobs?: number[];
  /** On request: for each token the likeliest tokens of softmax(logits), most likely first. */
  topLogprobs?: { id: number; logprob: number }[][];
  /** On request: of each prompt token but the first, of softmax(logits). */
  promptLogprobs?: number[];
}

/**
 * R rows of T tokens in all, concatenated. Arrays aligned with `ids` have length T and are read where `trained` is 1;
 * entry t speaks of the prediction of token t, so a row's first token is never trained.
 */
export interface RowBatch {
  ids: Int32Array;
  rowLengths: Int32Array;
  trained: Uint8Array;
  /** Weight of each trained token in the loss; carries the aggregation over the whole minibatch. */
  weights: Float32Array;
  advantages: Float32Array;
  /** Log-probs under the policy that ratios are taken to: the one that sampled, or a proximal one. */
  oldLogprobs: Float32Array;
  /** Log-probs under the reference policy; empty when the loss has no KL term. */
  referenceLogprobs: Float32Array;
  /** For a corrected loss: the weight of each token's policy term. */
  importance?: Float32Array;
  /** For `clip-cov` and `kl-cov`: 1 for the tokens that they have chosen. */
  chosen?: Float32Array;
  /** For the losses of a value head: what each value should be. */
  returns?: Float32Array;
  /** For `value-clip`: the values from before the update. */
  oldValues?: Float32Array;
  /**
   * For the losses of a reward head, which have R entries here and in `weights`, one a row, and read no other array: the reward of
   * each row (`reward-mse`), or by how much the chosen row should win (`reward-pairs`, read at each chosen row; absent means 0).
   */
  targets?: Float32Array;
}

/** Which tokens of which rows: what scoring reads of a batch. */
export type ScoredRows = Pick<RowBatch, 'ids' | 'rowLengths' | 'trained'>;

export interface StepSettings {
  learningRate: number;
  beta1: number;
  beta2: number;
  epsilon: number;
  weightDecay: number;
  gradientClip: number;
}

export interface ForwardBackwardResult {
  loss: number;
  /** Length T, 0 where not trained; empty for the losses of a value or reward head. */
  logprobs: Float32Array;
  /** Entropy (nats) of the distribution that each trained token was predicted by, and 0 elsewhere; empty as above. */
  entropies: Float32Array;
  /** Mean of the trained tokens' entropies. */
  entropy: number;
  /** For a value head the values (length T, 0 where not trained), for a reward head the rewards (length R); else empty. */
  values: Float32Array;
  /** Sums over trained tokens of the loss's own metrics, weighted as the loss is. */
  metrics: Record<string, number>;
}

export interface EngineDescription {
  device: DeviceName;
  threads: number;
  slots: number;
  parameters: number;
  processId: number;
  peakMemoryBytes: number;
  /** Seconds since start in which a session was running. */
  busySeconds: number;
  held: string[];
}

export interface SavedPolicy {
  weightsPath: string;
  optimizerPath: string;
  /** SHA-256 of the weights file, as `sha256:<hex>`: the tag under which the engine now holds them. */
  weightsTag: string;
}

/** What an engine keeps in memory between calls: held weights, and the room for keys and values of generation. */
export type EngineMemory = 'weights' | 'cache';

export interface Engine {
  describe(): Promise<EngineDescription>;
  /** Loads a weight set; a no-op when it is held. At most `keep` other sets stay (default 1, least recently used go first). */
  load(source: WeightsSource, keep?: number): Promise<void>;
  /** Gives memory back to the system. Generations in flight fail; what was released comes back when it is loaded or used again. */
  release(parts: readonly EngineMemory[]): Promise<void>;
  /** Generates all completions; `onCompletions` is told of each as it finishes, in batches, `onTokens` of every new token. */
  generate(
    request: GenerationRequest,
    onCompletions: (completions: Completion[]) => void,
    signal?: AbortSignal,
    onTokens?: (deltas: TokenDelta[]) => void,
  ): Promise<void>;
  /** Log-probs (length T, 0 where not trained) of given rows under held weights, of softmax(logits / temperature). */
  score(weights: string, rows: ScoredRows, temperature: number): Promise<Float32Array>;
  /**
   * What the value head of held weights says of each trained token's state, the tokens before it (length T, 0 where not trained),
   * or the reward head of each whole row (length R; `trained` is not read).
   */
  values(weights: string, rows: ScoredRows): Promise<Float32Array>;

  /** Makes `weights` the trained policy, with its optimizer state, or fresh moments when that is null. */
  beginUpdate(weights: WeightsSource, optimizer: WeightsSource | null, optimizerStep: number): Promise<void>;
  /** Adds the gradients of one microbatch. */
  forwardBackward(rows: RowBatch, loss: LossSettings, temperature: number): Promise<ForwardBackwardResult>;
  /**
   * Clips, steps and clears the gradients. `applied: false` tells that the gradient was not finite (nothing has changed) or that
   * a weight no longer is; an update that meets either is begun anew.
   */
  optimizerStep(settings: StepSettings): Promise<{ gradientNorm: number; applied: boolean }>;
  /** Writes the trained policy to two files in a folder. */
  save(folder: string): Promise<SavedPolicy>;
  close(): Promise<void>;
}
