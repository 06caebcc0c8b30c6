/**
 * Merges for a SentencePiece vocabulary. SentencePiece joins the neighbours that make the token of the highest score; the same
 * comes out of byte-pair encoding with a merge for each way to cut a token into two, the highest score first. Ways of the same
 * score are ordered as the converter of transformers orders them: by token, then by the ids of the two parts.
 */
import type { Refuse } from './gguf-error.ts';

/** SentencePiece's own tokens have 16 characters at most unless it is told otherwise. */
const longestToken = 1024;

export function sentencePieceMerges(
  tokens: readonly string[],
  scores: readonly number[],
  refuse: Refuse,
): [string, string][] {
  const ids = new Map(tokens.map((token, id) => [token, id] as const).reverse());
  const merges: { pair: [string, string]; score: number }[] = [];
  for (const [id, token] of tokens.entries()) {
    if (token.length > longestToken)
      refuse(`token ${id} has ${token.length} characters, expected at most ${longestToken}`);
    const ways: { pair: [string, string]; left: number; right: number }[] = [];
    for (let cut = 1; cut < token.length; cut++) {
      const pair: [string, string] = [token.slice(0, cut), token.slice(cut)];
      const [left, right] = [ids.get(pair[0]), ids.get(pair[1])];
      if (left !== undefined && right !== undefined) ways.push({ pair, left, right });
    }
    ways.sort((a, b) => a.left - b.left || a.right - b.right);
    merges.push(...ways.map(({ pair }) => ({ pair, score: scores[id]! })));
  }
  return merges.sort((a, b) => b.score - a.score).map(({ pair }) => pair);
}
