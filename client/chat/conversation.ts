/** A conversation with a policy. Without a chat template each prompt stands alone and is continued as it is. */
import { seedAt } from '../../core/seeds.ts';
import { RekindleError } from '../../core/errors.ts';
import type { Completion } from '../../gpu/engine-port.ts';
import type { ChatMessage } from '../../gpu/tokenizer/index.ts';
import type { Policy } from './open-policy.ts';

export interface SamplingChoice {
  /** 0 means greedy. */
  temperature: number;
  maxNewTokens: number;
  seed: number;
}

export interface Reply {
  response: string;
  tokens: { id: number; text: string; logprob: number }[];
  finish: Completion['finish'];
}

export class Conversation {
  readonly #policy: Policy;
  readonly #sampling: SamplingChoice;
  readonly #messages: ChatMessage[];
  #turn = 0;

  constructor(policy: Policy, sampling: SamplingChoice) {
    this.#policy = policy;
    this.#sampling = sampling;
    this.#messages = [...(policy.opening ?? [])];
  }

  /** Throws UsageError when the conversation no longer fits the model. */
  async ask(prompt: string, signal?: AbortSignal): Promise<Reply> {
    const { tokenizer, engine, weights, opening, config } = this.#policy;
    this.#messages.push({ role: 'user', content: prompt });
    const text =
      opening === null ? prompt : tokenizer.applyChatTemplate(this.#messages, { addGenerationPrompt: true });
    const ids = tokenizer.encode(text);
    const room = config.maxPositions - ids.length;
    if (ids.length === 0 || room < 1) {
      throw new RekindleError(
        'UsageError',
        `the prompt has ${ids.length} tokens: expected 1 to ${config.maxPositions - 1} for this model`,
      );
    }
    const { temperature, maxNewTokens, seed } = this.#sampling;
    const completions: Completion[] = [];
    await engine.generate(
      {
        weights,
        prompts: [{ ids, seeds: [seedAt(seed, 'chat', this.#turn++)] }],
        sampling: {
          temperature,
          topK: 0,
          topP: 1,
          maxNewTokens: Math.min(maxNewTokens, room),
          stopIds: [...tokenizer.stopIds],
        },
      },
      (finished) => completions.push(...finished),
      signal,
    );
    const completion = completions[0]!;
    const response = tokenizer.decode(completion.ids).trimEnd();
    this.#messages.push({ role: 'assistant', content: response });
    const tokens = completion.ids.map((id, i) => ({
      id,
      text: tokenizer.token(id),
      logprob: completion.logprobs[i]!,
    }));
    return { response, tokens, finish: completion.finish };
  }
}
