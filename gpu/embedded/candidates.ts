/** Which tokens top-k, top-p and min-p leave to choose from. Among equal probabilities the lower id counts as more probable. */
import type { Sampling } from '../engine-port.ts';

export type SamplingRule = Pick<Sampling, 'temperature' | 'topK' | 'topP' | 'minP'>;

/** Whether the rule can leave any of `vocabSize` tokens out. */
export function restricts({ topK, topP, minP = 0 }: SamplingRule, vocabSize: number): boolean {
  return (topK > 0 && topK < vocabSize) || topP < 1 || minP > 0;
}

/**
 * The ids that top-k, then top-p, then min-p leave, ascending. Top-p keeps the smallest set of most probable tokens whose
 * share of what top-k left reaches topP (Holtzman et al., "The curious case of neural text degeneration", ICLR 2020); min-p
 * those of at least minP times the largest probability (Nguyen et al., "Turning up the heat: min-p sampling", ICLR 2025).
 * @param total Sum of the probabilities.
 */
export function candidateIds(probabilities: Float32Array, total: number, rule: SamplingRule): number[] {
  const { topK, topP, minP = 0 } = rule;
  const limited = topK > 0 && topK < probabilities.length;
  // Tokens below (1 - topP) / V hold together less than 1 - topP: the nucleus is found without sorting the whole vocabulary.
  const descending = limited
    ? mostProbable(probabilities, topK)
    : atLeast(probabilities, (Math.max(0, 1 - topP) * total) / probabilities.length);
  const largest = probabilities[descending[0]!]!;
  let count = descending.length;
  if (topP < 1) {
    const mass = limited ? descending.reduce((sum, id) => sum + probabilities[id]!, 0) : total;
    let kept = 0;
    count = 0;
    while (count < descending.length && kept < topP * mass) kept += probabilities[descending[count++]!]!;
  }
  while (count > 1 && probabilities[descending[count - 1]!]! < minP * largest) count--;
  descending.length = Math.max(count, 1);
  return descending.sort((a, b) => a - b);
}

/** The ids of the `count` largest values, largest first. */
export function mostProbable(values: Float32Array, count: number): number[] {
  const ids: number[] = [];
  for (let id = 0; id < values.length; id++) {
    const value = values[id]!;
    if (ids.length === count && value <= values[ids[count - 1]!]!) continue;
    let low = 0;
    let high = ids.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (values[ids[middle]!]! >= value) low = middle + 1;
      else high = middle;
    }
    ids.splice(low, 0, id);
    if (ids.length > count) ids.pop();
  }
  return ids;
}

/** Ids of probability `threshold` or more, most probable first. */
function atLeast(probabilities: Float32Array, threshold: number): number[] {
  const ids: number[] = [];
  for (let id = 0; id < probabilities.length; id++) if (probabilities[id]! >= threshold) ids.push(id);
  return ids.sort((a, b) => probabilities[b]! - probabilities[a]! || a - b);
}
