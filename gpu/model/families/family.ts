/** What a family adds to the decoder that all of them share, and how its config.json says so. */
import type { DecoderConfig } from '../decoder-config.ts';
import type { RawConfig } from '../raw-config.ts';

/** Ends the reading of config.json with an error that names the option, its value and the values that are supported. */
export type Refuse = (option: string, value: unknown, supported: string) => never;

export interface Family {
  /** The class in transformers, as config.json's `architectures` has it. */
  architecture: string;
  /** What transformers takes for keys that config.json leaves out, where the families differ. */
  defaults: Readonly<Record<string, unknown>>;
  attentionBias: boolean;
  queryKeyNorm: boolean;
  attentionWindow(raw: RawConfig, refuse: Refuse): number | null;
  /** Keys of config.json that only some families have. */
  ownKeys(config: DecoderConfig): Record<string, unknown>;
}
