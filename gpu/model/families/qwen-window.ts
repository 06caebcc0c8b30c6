/** The sliding window of Qwen models: off unless asked for, and then in the layers from `max_window_layers` on. */
import type { DecoderConfig } from '../decoder-config.ts';
import type { RawConfig } from '../raw-config.ts';
import type { Refuse } from './family.ts';

export const qwenWindowDefaults = { use_sliding_window: false, sliding_window: 4096, max_window_layers: 28 };

export function qwenWindow(raw: RawConfig, refuse: Refuse): number | null {
  const { use_sliding_window, sliding_window, max_window_layers, num_hidden_layers, layer_types } = raw;
  if (!use_sliding_window || sliding_window === null) return null;
  if (layer_types) return layer_types[0] === 'sliding_attention' ? sliding_window : null;
  if (max_window_layers >= num_hidden_layers) return null;
  if (max_window_layers === 0) return sliding_window;
  return refuse(
    'max_window_layers',
    max_window_layers,
    `0 or at least ${num_hidden_layers}, all layers alike`,
  );
}

export function qwenWindowKeys({ attentionWindow, layers }: DecoderConfig): Record<string, unknown> {
  const slides = attentionWindow !== null;
  return {
    use_sliding_window: slides,
    sliding_window: attentionWindow,
    max_window_layers: slides ? 0 : layers,
  };
}
