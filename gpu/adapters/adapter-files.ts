/**
 * Adapter weights as PEFT's adapter_model.safetensors. Rank and alpha stand in the metadata too, so that the file says by itself
 * what it adds; for a file of PEFT they are read from the adapter_config.json beside it.
 */
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { RekindleError } from '../../core/errors.ts';
import { adapterModules, type AdapterModule, type AdapterSettings } from '../../core/recipe.ts';
import { seedAt, uniformAt } from '../../core/seeds.ts';
import { readWeights, writePieces } from '../embedded/policy-files.ts';
import { weightsLayout, type WeightsLayout } from '../embedded/weights-layout.ts';
import type { DecoderConfig } from '../model/decoder-config.ts';
import { openWeightFiles } from '../model/weight-files.ts';
import { adapterLayout } from './adapter-layout.ts';
import { adapterFileNames, parseAdapterConfig, type AdapterNumbers } from './peft-config.ts';

export interface AdapterForm {
  settings: AdapterSettings;
  /** It carries the score of a value or reward head. */
  scored: boolean;
}

const loraName = /\.(\w+)\.lora_[AB]\.weight$/;

/**
 * What the file at `path` says of itself.
 * @throws RekindleError ModelError when it is no adapter, or one with modules or options that ours does not have.
 */
export async function readAdapterForm(path: string): Promise<AdapterForm> {
  const file = await openWeightFiles(path);
  const { metadata } = file;
  const names = [...file.tensors.keys()];
  await file.close();

  const modules = new Set(names.flatMap((name) => loraName.exec(name)?.[1] ?? []));
  const unknown = [...modules].find((module) => !(adapterModules as readonly string[]).includes(module));
  if (unknown !== undefined || modules.size === 0) {
    const problem = unknown === undefined ? 'holds no LoRA matrices' : `adapts the module ${unknown}`;
    throw new RekindleError(
      'ModelError',
      `${path} ${problem}; expected some of ${adapterModules.join(', ')}`,
    );
  }
  const numbers =
    numbersOf(metadata) ?? (await readConfig(join(dirname(path), adapterFileNames.config), path));
  const targets = adapterModules.filter((module): module is AdapterModule => modules.has(module));
  return { settings: { ...numbers, targets }, scored: names.some((name) => name.endsWith('.score.weight')) };
}

/** Reads the flat weights of an adapter in the layout of its form. @throws RekindleError ModelError as readWeights. */
export function readAdapter(
  path: string,
  base: WeightsLayout,
  { settings, scored }: AdapterForm,
  flat?: Float32Array,
): Promise<Float32Array> {
  return readWeights(path, adapterLayout(base, settings, scored), flat);
}

/** @returns the SHA-256 of the file as `sha256:<hex>` */
export function writeAdapter(
  path: string,
  base: WeightsLayout,
  { settings, scored }: AdapterForm,
  flat: Float32Array,
): Promise<string> {
  const { huggingFace } = adapterLayout(base, settings, scored);
  const pieceOf = ({ offset, length }: { offset: number; length: number }): Float32Array =>
    flat.subarray(offset, offset + length);
  return writePieces(path, huggingFace, pieceOf, metadataOf(settings));
}

/**
 * Writes a new adapter, which adds nothing yet: b is zero, and a uniform within 1 / sqrt(inputs), which is what PEFT begins with
 * (kaiming_uniform_ with a = sqrt(5)). Every element is a function of the run seed and its place.
 * @returns the SHA-256 of the file as `sha256:<hex>`
 */
export async function writeNewAdapter(
  path: string,
  config: DecoderConfig,
  settings: AdapterSettings,
  seed: number,
): Promise<string> {
  const base = weightsLayout(config);
  const layout = adapterLayout(base, settings, false);
  const flat = new Float32Array(layout.parameters);
  layout.tensors.forEach(({ name, shape, offset, length }, index) => {
    if (!name.endsWith('.a')) return;
    const bound = 1 / Math.sqrt(shape[1]!);
    const tensorSeed = seedAt(seed, 'initialAdapter', index);
    for (let i = 0; i < length; i++) flat[offset + i] = bound * (2 * uniformAt(tensorSeed, i) - 1);
  });
  return writeAdapter(path, base, { settings, scored: false }, flat);
}

function metadataOf({ rank, alpha, rankStabilized }: AdapterSettings): Record<string, string> {
  return { r: String(rank), lora_alpha: String(alpha), use_rslora: String(rankStabilized) };
}

function numbersOf({ r, lora_alpha, use_rslora }: Record<string, string>): AdapterNumbers | null {
  if (r === undefined || lora_alpha === undefined) return null;
  return { rank: Number(r), alpha: Number(lora_alpha), rankStabilized: use_rslora === 'true' };
}

async function readConfig(configPath: string, weightsPath: string): Promise<AdapterNumbers> {
  const text = await readFile(configPath, 'utf8').catch((error: Error) => {
    throw new RekindleError('ModelError', `${configPath} cannot be read: ${error.message}`, {
      hint: `${weightsPath} does not tell its rank and alpha; ${adapterFileNames.config} must stand beside it.`,
    });
  });
  return parseAdapterConfig(text, configPath);
}
