/**
 * Rollout, update and swap of weights, over and over, as a run does it: every step writes weights and optimizer state to files, and
 * the next one starts from them.
 */
import { join } from 'node:path';
import { grpo } from '../../../core/advantage/grpo.ts';
import { seedAt } from '../../../core/seeds.ts';
import type { Completion, Engine, RowBatch, WeightsSource } from '../../../gpu/engine-port.ts';
import { loss, step } from './training-batch.ts';

export interface Iteration {
  /** Token ids of each prompt. */
  prompts: readonly (readonly number[])[];
  /** Samples of each prompt. */
  groupSize: number;
  newTokens: number;
}

export class PolicyLoop {
  readonly #engine: Engine;
  readonly #folder: string;
  #weights: WeightsSource;
  #optimizer: WeightsSource | null = null;
  #steps = 0;

  /** @param folder Where the policies are written; the last two are kept. */
  constructor(engine: Engine, weights: WeightsSource, folder: string) {
    this.#engine = engine;
    this.#weights = weights;
    this.#folder = folder;
  }

  /** Optimizer steps done. */
  get steps(): number {
    return this.#steps;
  }

  async iterate({ prompts, groupSize, newTokens }: Iteration): Promise<void> {
    await this.#engine.load(this.#weights);
    const completions: Completion[] = [];
    const request = {
      weights: this.#weights.tag,
      prompts: prompts.map((ids, group) => ({
        ids,
        seeds: Array.from({ length: groupSize }, (_, i) => seedAt(1, 'rollout', this.#steps, group, i)),
      })),
      sampling: { temperature: 1, topK: 0, topP: 1, maxNewTokens: newTokens, stopIds: [] },
    };
    await this.#engine.generate(request, (finished) => completions.push(...finished));
    await this.#engine.beginUpdate(this.#weights, this.#optimizer, this.#steps);
    await this.#engine.forwardBackward(rowsOf(completions, prompts), loss, 1);
    await this.#engine.optimizerStep(step);
    this.#steps++;
    const saved = await this.#engine.save(join(this.#folder, `policy-${this.#steps % 2}`));
    this.#weights = { tag: saved.weightsTag, path: saved.weightsPath };
    this.#optimizer = { tag: saved.weightsTag, path: saved.optimizerPath };
  }
}

/** Rows of prompt and completion; the reward, the mean token id, differs from sample to sample. */
function rowsOf(completions: readonly Completion[], promptIds: readonly (readonly number[])[]): RowBatch {
  const advantages = promptIds.map((_, prompt) => {
    const group = completions.filter((completion) => completion.prompt === prompt);
    const scored = group.map(({ ids }) => ({
      reward: ids.reduce((sum, id) => sum + id, 0) / ids.length,
      tokens: ids.length,
    }));
    const [advantagesG = []] = grpo([scored], { epsilon: 1e-4 });
    return new Map(group.map((completion, i) => [completion, advantagesG[i] as number]));
  });
  const trainedTokens = completions.reduce((sum, { ids }) => sum + ids.length, 0);
  const rows = completions.map((completion) => {
    const prompt = promptIds[completion.prompt]!;
    const constant = (value: number): number[] => new Array<number>(completion.ids.length).fill(value);
    const padding = new Array<number>(prompt.length).fill(0);
    const advantage = advantages[completion.prompt]!.get(completion)!;
    return {
      ids: [...prompt, ...completion.ids],
      trained: [...padding, ...constant(1)],
      weights: [...padding, ...constant(1 / trainedTokens)],
      advantages: [...padding, ...constant(advantage)],
      oldLogprobs: [...padding, ...completion.logprobs],
    };
  });
  return {
    ids: Int32Array.from(rows.flatMap(({ ids }) => ids)),
    rowLengths: Int32Array.from(rows, ({ ids }) => ids.length),
    trained: Uint8Array.from(rows.flatMap(({ trained }) => trained)),
    weights: Float32Array.from(rows.flatMap(({ weights }) => weights)),
    advantages: Float32Array.from(rows.flatMap(({ advantages }) => advantages)),
    oldLogprobs: Float32Array.from(rows.flatMap(({ oldLogprobs }) => oldLogprobs)),
    referenceLogprobs: new Float32Array(0),
  };
}
