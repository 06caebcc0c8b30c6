/**
 * The unigram language model (Kudo, "Subword Regularization", 2018, section 3.2): of all ways to cut a piece into tokens, the one
 * with the largest sum of log probabilities, by the Viterbi algorithm. A character that no token covers costs the smallest score
 * less `unknownPenalty`; runs of such characters are one unknown token, or bytes.
 */
import { z } from 'zod';
import { byteTokens, type Model } from './bpe.ts';
import { refuse, settingsOf } from './component.ts';

const unigramSchema = z.looseObject({
  vocab: z.array(z.tuple([z.string(), z.number()])).min(1),
  unk_id: z.number().int().nonnegative().nullish(),
  byte_fallback: z.boolean().nullish(),
});

const unknownPenalty = 10;
/** Marks a step over a character that is no token. */
const unknownStep = -1;
const encoder = new TextEncoder();

/** @throws RekindleError ModelError when the settings do not agree with each other. */
export function makeUnigram(value: unknown): { model: Model; ids: Map<string, number> } {
  const { vocab, unk_id: unknownId, byte_fallback: fallsBack } = settingsOf(unigramSchema, value, 'model');
  if (unknownId != null && unknownId >= vocab.length) {
    refuse('model.unk_id', `is ${unknownId}, but vocab has ${vocab.length} tokens`);
  }
  const ids = new Map(vocab.map(([token], id) => [token, id]));
  const scores = Float64Array.from(vocab, ([, score]) => score);
  const unknownScore = scores.reduce((least, score) => Math.min(least, score), Infinity) - unknownPenalty;
  const longest = vocab.reduce((length, [token]) => Math.max(length, token.length), 0);
  const bytes = byteTokens(ids);

  /** For each end in the best cut, where its last token begins and which it is. */
  function bestCut(piece: string): { starts: Int32Array; tokens: Int32Array } {
    const best = new Float64Array(piece.length + 1);
    const starts = new Int32Array(piece.length + 1).fill(-1);
    const tokens = new Int32Array(piece.length + 1);
    const offer = (end: number, score: number, start: number, token: number): void => {
      if (starts[end]! >= 0 && score <= best[end]!) return;
      best[end] = score;
      starts[end] = start;
      tokens[end] = token;
    };
    for (let start = 0; start < piece.length;) {
      const characterEnd = start + (piece.codePointAt(start)! > 0xffff ? 2 : 1);
      let covered = false;
      for (let end = characterEnd; end <= piece.length && end - start <= longest; end++) {
        const id = ids.get(piece.slice(start, end));
        if (id === undefined) continue;
        offer(end, best[start]! + scores[id]!, start, id);
        covered ||= end === characterEnd;
      }
      if (!covered) offer(characterEnd, best[start]! + unknownScore, start, unknownStep);
      start = characterEnd;
    }
    return { starts, tokens };
  }

  function unknownTokens(text: string): number[] {
    const fallback = fallsBack ? Array.from(encoder.encode(text), (byte) => bytes[byte]) : [undefined];
    if (!fallback.includes(undefined)) return fallback as number[];
    if (unknownId == null) refuse('model.unk_id', `is missing, and no token covers ${JSON.stringify(text)}`);
    return [unknownId];
  }

  const model: Model = (piece) => {
    const { starts, tokens } = bestCut(piece);
    const reversed: number[] = [];
    let unknownEnd: number | undefined;
    const endUnknown = (start: number): void => {
      if (unknownEnd !== undefined) reversed.push(...unknownTokens(piece.slice(start, unknownEnd)).reverse());
      unknownEnd = undefined;
    };
    let end = piece.length;
    while (end > 0) {
      const token = tokens[end]!;
      const isUnknown = token === unknownStep || token === unknownId;
      if (isUnknown) unknownEnd ??= end;
      else {
        endUnknown(end);
        reversed.push(token);
      }
      end = starts[end]!;
    }
    endUnknown(0);
    return reversed.reverse();
  };
  return { model, ids };
}
