/** Packed rows as the tensors that the decoder graphs read. */
import type { DecoderConfig } from '../model/decoder-config.ts';
import type { PackedRows } from './row-packing.ts';
import { tensor, type HostTensor } from './session.ts';

/** Added to the score of a key that a query must not see; its exponential is exactly 0. */
const HIDDEN_KEY = -1e9;

export class PackedFeeds {
  readonly #config: DecoderConfig;
  /** The mask last used. Masks of all widths ever seen would take more memory than a large model. */
  #mask: { positions: number; tensor: HostTensor } | undefined;

  constructor(config: DecoderConfig) {
    this.#config = config;
  }

  /** The feeds `ids`, `mask`, `selected`, `targets` and `inverseTemperature`. */
  of(packed: PackedRows, temperature: number): Record<string, HostTensor> {
    const { rows, positions, ids, selected, targets } = packed;
    return {
      ids: tensor(ids, [rows, positions]),
      mask: this.#maskOf(positions),
      selected: tensor(selected, [selected.length]),
      targets: tensor(targets, [targets.length, 1]),
      inverseTemperature: tensor(Float32Array.of(1 / temperature), []),
    };
  }

  /** The causal mask, within the window if there is one; queries of heads that share a key head stand one below the other. */
  #maskOf(positions: number): HostTensor {
    if (this.#mask?.positions !== positions) {
      const { heads, kvHeads, attentionWindow } = this.#config;
      const queries = (heads / kvHeads) * positions;
      const values = new Float32Array(queries * positions).fill(HIDDEN_KEY);
      for (let query = 0; query < queries; query++) {
        const position = query % positions;
        const seen = Math.min(position + 1, attentionWindow ?? Infinity);
        const end = query * positions + position + 1;
        values.fill(0, end - seen, end);
      }
      this.#mask = { positions, tensor: tensor(values, [1, 1, queries, positions]) };
    }
    return this.#mask.tensor;
  }
}
