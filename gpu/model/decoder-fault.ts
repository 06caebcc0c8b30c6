/** What no decoder can be built from, whether a recipe or a config.json asks for it. */
import { headSizeStep } from '../../core/model-shape.ts';
import type { DecoderConfig } from './decoder-config.ts';

/** Says why the sizes do not fit together; undefined when they do. */
export function decoderFault({ heads, kvHeads, headSize }: DecoderConfig): string | undefined {
  if (heads % kvHeads !== 0) return `${heads} query heads are not a multiple of ${kvHeads} key-value heads`;
  if (headSize % headSizeStep !== 0)
    return `head size ${headSize} is not a multiple of ${headSizeStep}, which the embedded engine's attention needs`;
  return undefined;
}
