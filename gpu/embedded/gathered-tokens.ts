/** New tokens of a generation, gathered so that they are told seldom; the first are told at once. */
import type { TokenDelta } from '../engine-port.ts';

export function gathered(
  seconds: number,
  tell: (deltas: TokenDelta[]) => void,
  now: () => number = Date.now,
): (deltas: TokenDelta[]) => void {
  const waiting = new Map<string, TokenDelta>();
  let toldAt = -Infinity;
  return (deltas) => {
    for (const { prompt, sample, ids, logprobs } of deltas) {
      const place = `${prompt}/${sample}`;
      const known = waiting.get(place) ?? { prompt, sample, ids: [], logprobs: [] };
      known.ids.push(...ids);
      known.logprobs.push(...logprobs);
      waiting.set(place, known);
    }
    if (now() - toldAt < seconds * 1000) return;
    toldAt = now();
    tell([...waiting.values()]);
    waiting.clear();
  };
}
