/** When a response ends before its limit: with a stop token, or with the token whose text completes a stop string. */
import type { Sampling } from '../engine-port.ts';
import { TextStream, type Tokenizer } from '../tokenizer/index.ts';

/** Told of each token of one response in turn; true for the one that ends it. */
export type StopCheck = (id: number) => boolean;

export interface StopRule {
  newCheck(): StopCheck;
}

/** @param tokenizer Needed for stop strings only. */
export function stopRule(
  { stopIds, stopStrings = [] }: Pick<Sampling, 'stopIds' | 'stopStrings'>,
  tokenizer: Pick<Tokenizer, 'decode'> | undefined,
): StopRule {
  const ids = new Set(stopIds);
  if (stopStrings.length === 0) return { newCheck: () => (id) => ids.has(id) };
  const longest = Math.max(...stopStrings.map((text) => text.length));
  return {
    newCheck: () => {
      const stream = new TextStream(tokenizer!);
      let tail = '';
      return (id) => {
        const text = tail + stream.push(id);
        // A stop string that lies in what came before would have ended the response.
        tail = text.slice(-(longest - 1) || text.length);
        return ids.has(id) || stopStrings.some((stop) => text.includes(stop));
      };
    },
  };
}
