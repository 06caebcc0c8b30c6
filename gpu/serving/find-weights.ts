/** The weights that a path names: a safetensors file, or a model folder of the very shape that is served. */
import { stat } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { RekindleError } from '../../core/errors.ts';
import type { DecoderConfig } from '../model/decoder-config.ts';
import { openModelFolder } from '../model/model-folder.ts';

export interface FoundWeights {
  path: string;
  /** Whether these are all weights of a model; a file may hold an adapter. */
  isModel: boolean;
}

/** @throws RekindleError ModelError when there is nothing, or a model of another shape. */
export async function findWeights(path: string, served: DecoderConfig): Promise<FoundWeights> {
  const found = await stat(path).catch(() => undefined);
  if (!found) throw new RekindleError('ModelError', `model_path ${path} does not exist`);
  if (!found.isDirectory()) return { path, isModel: false };
  const { config, weightsPath } = await openModelFolder(path);
  const [field] = differences(config, served);
  if (field === undefined) return { path: weightsPath, isModel: true };
  throw new RekindleError(
    'ModelError',
    `model_path ${path} has ${field} ${JSON.stringify(config[field])}, the served model ${JSON.stringify(served[field])}`,
    { hint: 'Start a server of its own for another model.' },
  );
}

/** Fields but for the context length, which a server may limit. */
function differences(one: DecoderConfig, other: DecoderConfig): (keyof DecoderConfig)[] {
  return (Object.keys(one) as (keyof DecoderConfig)[]).filter(
    (field) => field !== 'maxPositions' && !isDeepStrictEqual(one[field], other[field]),
  );
}
