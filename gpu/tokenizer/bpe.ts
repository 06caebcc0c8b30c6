/**
 * Byte-pair encoding (Sennrich et al., "Neural Machine Translation of Rare Words with Subword Units", 2016, section 3.2): a piece
 * begins as its characters; of all neighbours that a merge joins, the pair of the earliest merge is joined first, the leftmost
 * on a tie, until none is left.
 */
import { z } from 'zod';
import { refuse, settingsOf } from './component.ts';
import { MergeQueue } from './merge-queue.ts';

/** Token ids of a piece. */
export type Model = (piece: string) => readonly number[];

/** No token has a larger id, so that a pair of them is one number. */
export const idLimit = 2 ** 26 - 1;

const bpeSchema = z.looseObject({
  vocab: z.record(z.string(), z.number().int().nonnegative().max(idLimit)),
  merges: z.array(z.union([z.string(), z.tuple([z.string(), z.string()])])),
  unk_token: z.string().nullish(),
  continuing_subword_prefix: z.string().nullish(),
  end_of_word_suffix: z.string().nullish(),
  fuse_unk: z.boolean().nullish(),
  byte_fallback: z.boolean().nullish(),
  ignore_merges: z.boolean().nullish(),
});
type Settings = z.infer<typeof bpeSchema>;

/** Pieces come again and again; the first this many are remembered. */
const rememberedPieces = 50_000;
const rememberedLength = 64;

/** What a pair of tokens is merged into, and when: earlier ranks first. */
type Merges = ReadonlyMap<number, { rank: number; id: number }>;

function readMerges(
  { merges, continuing_subword_prefix: prefix }: Settings,
  ids: ReadonlyMap<string, number>,
): Merges {
  const read = new Map<number, { rank: number; id: number }>();
  merges.forEach((merge, rank) => {
    const [left, right] = typeof merge === 'string' ? splitMerge(merge, rank) : merge;
    const joined = left + (prefix && right.startsWith(prefix) ? right.slice(prefix.length) : right);
    const [leftId, rightId, id] = [left, right, joined].map((token) => ids.get(token));
    if (leftId === undefined || rightId === undefined || id === undefined) {
      refuse(
        `model.merges.${rank}`,
        `joins "${left}" and "${right}", but vocab lacks one of them or "${joined}"`,
      );
    }
    read.set(leftId * (idLimit + 1) + rightId, { rank, id });
  });
  return read;
}

function splitMerge(merge: string, rank: number): [string, string] {
  const parts = merge.split(' ');
  if (parts.length !== 2) refuse(`model.merges.${rank}`, `is ${JSON.stringify(merge)}, expected two tokens`);
  return parts as [string, string];
}

/** The ids of a byte-fallback's 256 tokens; a hole where the vocabulary lacks one. */
export function byteTokens(ids: ReadonlyMap<string, number>): (number | undefined)[] {
  return Array.from({ length: 256 }, (_, byte) =>
    ids.get(`<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`),
  );
}

const encoder = new TextEncoder();

/** The tokens that a piece begins as: characters, bytes of characters that are no token, or the unknown token. */
function initialTokens(settings: Settings, ids: ReadonlyMap<string, number>): (piece: string) => number[] {
  const { unk_token: unknownToken, fuse_unk: fuses, byte_fallback: fallsBack } = settings;
  const prefix = settings.continuing_subword_prefix ?? '';
  const suffix = settings.end_of_word_suffix ?? '';
  const unknown = unknownToken == null ? undefined : ids.get(unknownToken);
  if (unknownToken != null && unknown === undefined) {
    refuse('model.unk_token', `is ${JSON.stringify(unknownToken)}, which vocab lacks`);
  }
  const bytes = byteTokens(ids);
  return (piece) => {
    const tokens: number[] = [];
    let afterUnknown = false;
    const characters = Array.from(piece);
    characters.forEach((character, i) => {
      const token = (i > 0 ? prefix : '') + character + (i === characters.length - 1 ? suffix : '');
      const id = ids.get(token);
      const fallback =
        id === undefined && fallsBack
          ? Array.from(encoder.encode(token), (byte) => bytes[byte])
          : [undefined];
      if (id !== undefined) tokens.push(id);
      else if (!fallback.includes(undefined)) tokens.push(...(fallback as number[]));
      else if (unknown !== undefined && !(fuses && afterUnknown)) tokens.push(unknown);
      afterUnknown = id === undefined && fallback.includes(undefined);
    });
    return tokens;
  };
}

/** @throws RekindleError ModelError when the settings do not agree with each other. */
export function makeBpe(value: unknown): { model: Model; ids: Map<string, number> } {
  const settings = settingsOf(bpeSchema, value, 'model');
  const ids = new Map(Object.entries(settings.vocab));
  const merges = readMerges(settings, ids);
  const begin = initialTokens(settings, ids);
  const mergeOf = (left: number, right: number) => merges.get(left * (idLimit + 1) + right);
  const encode: Model = (piece) => {
    const whole = settings.ignore_merges ? ids.get(piece) : undefined;
    return whole === undefined ? new MergeQueue(begin(piece), mergeOf).run() : [whole];
  };

  const remembered = new Map<string, readonly number[]>();
  const model: Model = (piece) => {
    const known = remembered.get(piece);
    if (known) return known;
    const tokens = encode(piece);
    if (piece.length <= rememberedLength && remembered.size < rememberedPieces) remembered.set(piece, tokens);
    return tokens;
  };
  return { model, ids };
}
