/**
 * Runs prompts: their keys and values, what follows their last token, and on request their own log-probs. Short prompts are run
 * together, long ones in chunks; neither changes any bit (see forward-graph.ts). A token is never run alone in its row, since that
 * might: it is padded.
 */
import type { DecoderConfig } from '../model/decoder-config.ts';
import { cacheLength } from './forward-graph.ts';
import type { ForwardPass, Weights } from './forward-pass.ts';
import type { KvCache, KvPrefix } from './kv-cache.ts';
import type { NextToken } from './step-output.ts';
import type { TensorPlace } from './tensor-place.ts';
import { UntemperedLogprobs } from './token-logprobs.ts';

/** Tokens in one run: enough for the speed of large products. */
export const CHUNK_TOKENS = 256;
/** Tokens in one run when each takes a row of logits. */
const CHUNK_TOKENS_WITH_LOGITS = 32;
const FEWEST_STEPS = 2;
/** Caches of different sizes are kept to run prompts in: so many, and of so many positions in all, the latest excepted. */
const KEPT_CACHES = 8;
const KEPT_POSITIONS = 4096;

export interface Prompt {
  ids: readonly number[];
  /** Of what follows; greater than 0. */
  temperature: number;
  /** Keys and values of a sequence that shares its first `shared` tokens, fewer than all, with this one; `written` lets them go. */
  known: { keysAndValues: KvPrefix; positions: number; shared: number; written: () => void } | null;
  /** Whether to report the log-prob of each token but the first, under softmax(logits). */
  logprobs: boolean;
}

export interface PrefilledPrompt {
  keysAndValues: KvPrefix;
  next: NextToken;
  logprobs: number[];
}

export class Prefill {
  readonly #config: DecoderConfig;
  readonly #place: TensorPlace;
  readonly #forward: ForwardPass;
  readonly #caches = new Map<string, KvCache>();
  #keptPositions = 0;

  constructor(config: DecoderConfig, place: TensorPlace, forward: ForwardPass) {
    this.#config = config;
    this.#place = place;
    this.#forward = forward;
  }

  run(weights: Weights, prompts: readonly Prompt[]): PrefilledPrompt[] {
    const results = new Map<Prompt, PrefilledPrompt>();
    const alone = (prompt: Prompt): boolean =>
      prompt.known !== null || prompt.logprobs || prompt.ids.length > CHUNK_TOKENS;
    for (const prompt of prompts.filter(alone)) results.set(prompt, this.#runAlone(weights, prompt));
    for (const group of groups(prompts.filter((prompt) => !alone(prompt)))) {
      this.#runTogether(weights, group).forEach((result, i) => results.set(group[i]!, result));
    }
    return prompts.map((prompt) => results.get(prompt)!);
  }

  /** Forgets what was computed: after numbers that are not finite, which a mask does not hide. */
  reset(): void {
    for (const cache of this.#caches.values()) cache.release();
    this.#caches.clear();
    this.#keptPositions = 0;
  }

  #runTogether(weights: Weights, prompts: readonly Prompt[]): PrefilledPrompt[] {
    const steps = Math.max(FEWEST_STEPS, ...prompts.map(({ ids }) => ids.length));
    const cache = this.#cache(prompts.length, steps);
    const idsBT = new Int32Array(cache.rows * steps);
    prompts.forEach(({ ids }, row) => idsBT.set(ids, row * steps));
    const output = this.#forward.run(weights, cache, {
      steps,
      idsBT,
      starts: prompts.map(() => 0),
      selected: prompts.map(({ ids }, row) => row * steps + ids.length - 1),
      temperatures: prompts.map(({ temperature }) => temperature),
    });
    return prompts.map(({ ids }, row) => ({
      keysAndValues: cache.read(row, ids.length),
      next: copied(output.next[row]!),
      logprobs: [],
    }));
  }

  #runAlone(weights: Weights, { ids, temperature, known, logprobs }: Prompt): PrefilledPrompt {
    const cache = this.#cache(1, Math.max(ids.length + FEWEST_STEPS, known?.positions ?? 0));
    if (known) {
      cache.write(0, known.keysAndValues);
      known.written();
    }
    const chunk = logprobs ? CHUNK_TOKENS_WITH_LOGITS : CHUNK_TOKENS;
    const promptLogprobs: number[] = [];
    let next: NextToken | undefined;
    for (let start = known?.shared ?? 0; start < ids.length; start += chunk) {
      const piece = ids.slice(start, start + chunk);
      const last = start + piece.length === ids.length;
      // The last token twice: for its own temperature, and for prompt log-probs.
      const scored = logprobs ? piece.map((_, i) => i) : [];
      const steps = Math.max(FEWEST_STEPS, piece.length);
      const idsBT = new Int32Array(steps);
      idsBT.set(piece);
      const output = this.#forward.run(weights, cache, {
        steps,
        idsBT,
        starts: [start],
        selected: [...scored, piece.length - 1],
        temperatures: [...scored.map(() => 1), temperature],
      });
      for (const i of scored) {
        const target = ids[start + i + 1];
        if (target === undefined) continue;
        promptLogprobs.push(new UntemperedLogprobs(output.next[i]!, 1).of(target));
      }
      if (last) next = copied(output.next[scored.length]!);
    }
    return { keysAndValues: cache.read(0, ids.length), next: next!, logprobs: promptLogprobs };
  }

  #cache(rows: number, positions: number): KvCache {
    const length = cacheLength(this.#config, positions);
    const key = `${rows} ${length}`;
    let cache = this.#caches.get(key);
    if (!cache) {
      if (this.#caches.size === KEPT_CACHES || this.#keptPositions + rows * length > KEPT_POSITIONS)
        this.reset();
      this.#keptPositions += rows * length;
      cache = this.#place.kvCache(this.#config, rows, length);
      this.#caches.set(key, cache);
    }
    return cache;
  }
}

/** Prompts that make up one run, padding included; of similar length, in as few runs as that allows. */
function groups(prompts: readonly Prompt[]): Prompt[][] {
  const groups: Prompt[][] = [];
  for (const prompt of [...prompts].sort((a, b) => b.ids.length - a.ids.length)) {
    const last = groups.at(-1);
    if (last && (last.length + 1) * last[0]!.ids.length <= CHUNK_TOKENS) last.push(prompt);
    else groups.push([prompt]);
  }
  return groups;
}

function copied({ logits, probabilities, blockSums }: NextToken): NextToken {
  return { logits: logits.slice(), probabilities: probabilities.slice(), blockSums: blockSums.slice() };
}
