/**
 * Where the matrices of an adapter lie in one flat array: for each target module of each layer a pair a [r, inputs] and
 * b [outputs, r], which add scale * b a to its matrix (Hu et al. 2021, arXiv 2106.09685). File names are those of PEFT.
 */
import { adapterModules, type AdapterModule, type AdapterSettings } from '../../core/recipe.ts';
import { SCORE, type TensorSlot, type WeightsLayout } from '../embedded/weights-layout.ts';

/** The factor on the product of a pair. */
export function adapterScale({ rank, alpha, rankStabilized }: AdapterSettings): number {
  return alpha / (rankStabilized ? Math.sqrt(rank) : rank);
}

/** The engine's names of a pair. */
export function pairTensors(layer: number, module: AdapterModule): { a: string; b: string } {
  return { a: `layer${layer}.${module}.a`, b: `layer${layer}.${module}.b` };
}

export interface AdaptedModule {
  layer: number;
  module: AdapterModule;
  /** The module's own matrix, under its Hugging Face name, in the flat array of the base. */
  matrix: TensorSlot;
}

const moduleName = new RegExp(`^model\\.layers\\.(\\d+)\\.\\w+\\.(${adapterModules.join('|')})\\.weight$`);

/** The modules that an adapter adds to, in the order of the base. */
export function adaptedModules(
  base: WeightsLayout,
  { targets }: Pick<AdapterSettings, 'targets'>,
): AdaptedModule[] {
  const wanted: readonly string[] = targets === 'all-linear' ? adapterModules : targets;
  return base.huggingFace.flatMap((matrix) => {
    const [, layer, module] = moduleName.exec(matrix.name) ?? [];
    if (module === undefined || !wanted.includes(module)) return [];
    return [{ layer: Number(layer), module: module as AdapterModule, matrix }];
  });
}

/** @param scored The adapter carries a score of its own: the base has none. */
export function adapterLayout(
  base: WeightsLayout,
  settings: AdapterSettings,
  scored: boolean,
): WeightsLayout {
  const tensors: TensorSlot[] = [];
  const huggingFace: TensorSlot[] = [];
  let offset = 0;
  const append = (name: string, fileName: string, shape: [number, number]): void => {
    const slot = { shape, offset, length: shape[0] * shape[1] };
    tensors.push({ ...slot, name });
    huggingFace.push({ ...slot, name: fileName });
    offset += slot.length;
  };
  for (const { layer, module, matrix } of adaptedModules(base, settings)) {
    const [outputs, inputs] = matrix.shape as [number, number];
    const { a, b } = pairTensors(layer, module);
    const prefix = `base_model.model.${matrix.name.slice(0, -'.weight'.length)}`;
    append(a, `${prefix}.lora_A.weight`, [settings.rank, inputs]);
    append(b, `${prefix}.lora_B.weight`, [outputs, settings.rank]);
  }
  if (scored) {
    const [{ shape }] = base.tensors as [TensorSlot];
    append(SCORE, 'base_model.model.score.weight', [1, shape[1]!]);
  }
  return { parameters: offset, matrixParameters: offset, tensors, huggingFace };
}
