/**
 * Many episodes, one engine: turns that become ready in one round of the event loop go to it as one request, in which equal prompts
 * are prefilled once. What a turn samples depends on its tokens and its seed alone, so company does not matter.
 */
import type { Seed } from '../../core/seeds.ts';
import type { Completion, GenerationRequest } from '../../gpu/engine-port.ts';

type Prompts = GenerationRequest['prompts'];
type Generate = (prompts: Prompts, onCompletions: (completions: Completion[]) => void) => Promise<void>;

interface WaitingTurn {
  ids: readonly number[];
  seed: Seed;
  resolve(completion: Completion): void;
  reject(error: unknown): void;
}

export class TurnQueue {
  readonly #generate: Generate;
  #waiting: WaitingTurn[] = [];

  constructor(generate: Generate) {
    this.#generate = generate;
  }

  /** Samples a response after `ids`. Rejects with the engine's error. */
  sample(ids: readonly number[], seed: Seed): Promise<Completion> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.length === 0) setImmediate(() => this.#send());
      this.#waiting.push({ ids, seed, resolve, reject });
    });
  }

  #send(): void {
    const turns = this.#waiting;
    this.#waiting = [];
    const groups = byPrompt(turns);
    const prompts = groups.map((group) => ({ ids: group[0]!.ids, seeds: group.map(({ seed }) => seed) }));
    this.#generate(prompts, (completions) => {
      for (const completion of completions)
        groups[completion.prompt]![completion.sample]!.resolve(completion);
    }).catch((error: unknown) => turns.forEach(({ reject }) => reject(error)));
  }
}

function byPrompt(turns: readonly WaitingTurn[]): WaitingTurn[][] {
  const groups = new Map<string, WaitingTurn[]>();
  for (const turn of turns) {
    const prompt = turn.ids.join();
    const group = groups.get(prompt);
    if (group === undefined) groups.set(prompt, [turn]);
    else group.push(turn);
  }
  return [...groups.values()];
}
