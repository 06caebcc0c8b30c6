/**
 * The policy that is trained: where an update begins from, and what it is saved as. As long as no step has changed it, the trainer's
 * own arrays are the policy of a tag: an update that goes on from there reads nothing, and a set for generation is copied from it
 * only when one is asked for.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { RekindleError } from '../../core/errors.ts';
import { adapterModules, type AdapterSettings } from '../../core/recipe.ts';
import { readAdapter, readAdapterForm, writeAdapter, type AdapterForm } from '../adapters/adapter-files.ts';
import { AdapterMerger } from '../adapters/merge.ts';
import { adapterConfigFile, adapterFileNames } from '../adapters/peft-config.ts';
import type { SavedPolicy, WeightsSource } from '../engine-port.ts';
import { readMoments, readWeights, writeMoments, writePieces } from './policy-files.ts';
import type { HostTensor, SessionOptions } from './session.ts';
import { Trainer } from './trainer.ts';
import { partsOf, type TrainingPlan } from './training-plan.ts';
import type { WeightSet } from './weight-sets.ts';
import { weightTensors } from './weight-tensors.ts';

type Tensors = Readonly<Record<string, HostTensor>>;

/** Where an update looks for weights that an engine has. */
export interface HeldSets {
  find(tag: string): WeightSet | undefined;
  /** The set of a source: held already, or read and held from now on. */
  hold(source: WeightsSource): Promise<WeightSet>;
}

export class PolicyUpdate {
  readonly #plan: TrainingPlan;
  readonly #options: SessionOptions;
  readonly #held: HeldSets;
  #trainer: Trainer | undefined;
  #merger: AdapterMerger | undefined;
  /** The tensors that are not trained, and the tag of the set that they are of. */
  #fixed: { tensors: Tensors; tag: string } | undefined;
  /** What the trainer's arrays are the contents of, until the next step. */
  #at: { weights: string; optimizer: string | null } | undefined;

  constructor(plan: TrainingPlan, options: SessionOptions, held: HeldSets) {
    this.#plan = plan;
    this.#options = options;
    this.#held = held;
  }

  /** The tag of the policy that the trainer's arrays hold, if it has one. */
  get tag(): string | undefined {
    return this.#at?.weights;
  }

  /** @throws RekindleError EngineError when no update was begun: an engine that was restarted must not train zeros. */
  get trainer(): Trainer {
    if (this.#trainer) return this.#trainer;
    throw new RekindleError('EngineError', 'no update was begun', {
      hint: 'Call beginUpdate first; an engine that was restarted has lost the update that was in progress.',
    });
  }

  /**
   * @throws RekindleError ModelError for weights of another kind than this engine trains, or a file that does not fit the model;
   * RecipeError for a training setup that does not.
   */
  async begin(weights: WeightsSource, optimizer: WeightsSource | null, step: number): Promise<void> {
    this.#requireKind(weights);
    const trainer = (this.#trainer ??= new Trainer(this.#plan.config, {
      ...this.#options,
      setup: this.#plan.setup,
    }));
    const at = this.#at;
    this.#at = undefined;
    try {
      const flat = trainer.weights;
      if (at?.weights !== weights.tag) {
        await this.#readFixed(weights.base ?? weights);
        await this.#readTrained(weights, flat);
      }
      const moments = optimizer && trainer.moments;
      if (moments && at?.optimizer !== optimizer.tag) await readMoments(optimizer.path, step, moments);
      trainer.beginUpdate(flat, moments, step, this.#fixed?.tensors);
    } catch (error) {
      // Its arrays may be filled in part.
      trainer.close();
      this.#trainer = undefined;
      throw error;
    }
    this.#at = { weights: weights.tag, optimizer: optimizer?.tag ?? null };
  }

  /** The trainer, for a change of its weights. */
  changing(): Trainer {
    this.#at = undefined;
    return this.trainer;
  }

  async save(folder: string): Promise<SavedPolicy> {
    const { weights, moments, step } = this.trainer;
    await mkdir(folder, { recursive: true });
    const optimizerPath = join(folder, 'optimizer.safetensors');
    const { weightsPath, weightsTag } = await this.#saveWeights(folder, weights);
    const optimizer = await writeMoments(optimizerPath, moments, step);
    this.#at = { weights: weightsTag, optimizer };
    return { weightsPath, optimizerPath, weightsTag };
  }

  /** A copy of the policy that the trainer's arrays hold, for generation and scoring; merged, if it is an adapter. */
  copy(): WeightSet {
    const { weights } = this.trainer;
    const form = this.#form();
    if (!form) return { tensors: this.#tensors(weights.slice()) };
    const { tensors: base, tag } = this.#fixed!;
    this.#merger ??= new AdapterMerger(this.#options);
    return {
      tensors: this.#merger.merge(base, this.#plan.base, form.settings, weights.slice(), form.scored),
      base: tag,
    };
  }

  close(): void {
    this.#trainer?.close();
    this.#merger?.close();
  }

  #requireKind({ path, base }: WeightsSource): void {
    const { adapter } = this.#plan.setup;
    if ((adapter === null) === (base === undefined)) return;
    throw new RekindleError(
      'ModelError',
      adapter
        ? `${path} came without a base; this engine trains an adapter on one`
        : `${path} came as an adapter on a base; this engine trains full weights`,
    );
  }

  async #readFixed(source: WeightsSource): Promise<void> {
    const { fixed } = this.#plan;
    if (fixed.length === 0 || this.#fixed?.tag === source.tag) return;
    const { tensors } = await this.#held.hold(source);
    const named = fixed.map(({ name }) => [name, tensors[name]!] as const);
    this.#fixed = { tensors: Object.fromEntries(named), tag: source.tag };
  }

  /** From a held set if there is one; else straight into the trainer's array. */
  async #readTrained(source: WeightsSource, flat: Float32Array): Promise<void> {
    const { base, trained } = this.#plan;
    const form = this.#form();
    if (form) {
      requireSameForm((await readAdapterForm(source.path)).settings, form.settings, source.path);
      await readAdapter(source.path, base, form, flat);
      return;
    }
    const held = this.#held.find(source.tag);
    if (!held) {
      await readWeights(source.path, base, flat);
      return;
    }
    for (const { name, offset } of trained.tensors) {
      flat.set(held.tensors[name]!.data as Float32Array, offset);
    }
  }

  async #saveWeights(
    folder: string,
    flat: Float32Array,
  ): Promise<Pick<SavedPolicy, 'weightsPath' | 'weightsTag'>> {
    const { base } = this.#plan;
    const form = this.#form();
    if (form) {
      const weightsPath = join(folder, adapterFileNames.weights);
      const config = adapterConfigFile(form.settings, { scored: form.scored, baseModel: null });
      await writeFile(join(folder, adapterFileNames.config), config);
      return { weightsPath, weightsTag: await writeAdapter(weightsPath, base, form, flat) };
    }
    const weightsPath = join(folder, 'model.safetensors');
    const tensors = this.#tensors(flat);
    const pieces = base.tensors.flatMap((tensor) =>
      partsOf(base, tensor).map((part) => ({
        part,
        tensor: tensors[tensor.name]!,
        start: part.offset - tensor.offset,
      })),
    );
    const pieceOf = new Map(
      pieces.map(({ part, tensor, start }) => [
        part,
        (tensor.data as Float32Array).subarray(start, start + part.length),
      ]),
    );
    const weightsTag = await writePieces(weightsPath, base.huggingFace, (part) => pieceOf.get(part)!);
    return { weightsPath, weightsTag };
  }

  #tensors(trained: Float32Array): Tensors {
    return { ...this.#fixed?.tensors, ...weightTensors(this.#plan.trained, trained) };
  }

  /** Of the adapter that is trained; null when the weights themselves are. */
  #form(): AdapterForm | null {
    const { adapter, head } = this.#plan.setup;
    return adapter && { settings: adapter, scored: head !== 'token' };
  }
}

function requireSameForm(found: AdapterSettings, expected: AdapterSettings, path: string): void {
  const text = ({ rank, alpha, targets, rankStabilized }: AdapterSettings): string => {
    const modules = adapterModules.filter((module) => targets === 'all-linear' || targets.includes(module));
    return `rank ${rank}, alpha ${alpha}${rankStabilized ? ', rank-stabilized' : ''}, on ${modules.join(', ')}`;
  };
  if (text(found) === text(expected)) return;
  throw new RekindleError(
    'ModelError',
    `${path} is an adapter of ${text(found)}; this engine trains one of ${text(expected)}`,
  );
}
