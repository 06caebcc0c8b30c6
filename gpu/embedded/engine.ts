/**
 * The embedded engine: onnxruntime on the CPU in this process, whose native calls block the thread (see engine-client.ts for the
 * engine in a process of its own).
 *
 * Held weight sets never change, so generation and scoring go on undisturbed while training works on a copy of its own. Calls
 * that touch the trained policy run one after the other, in the order in which they came.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { DeviceName } from '../../core/devices.ts';
import { RekindleError } from '../../core/errors.ts';
import type { LossSettings } from '../../core/loss/settings.ts';
import { requireAvailable } from '../devices/device-report.ts';
import { probeDevice } from '../devices/probe.ts';
import type { DecoderConfig } from '../model/decoder-config.ts';
import type {
  Completion,
  Engine,
  EngineDescription,
  EngineMemory,
  ForwardBackwardResult,
  GenerationRequest,
  RowBatch,
  SavedPolicy,
  ScoredRows,
  StepSettings,
  WeightsSource,
} from '../engine-port.ts';
import type { TrainingSetup } from '../training-setup.ts';
import { collectGarbage } from './collect-garbage.ts';
import { Generator } from './generator.ts';
import { readMoments, readWeights, writeMoments, writeWeights } from './policy-files.ts';
import { Scorer } from './scorer.ts';
import { Trainer } from './trainer.ts';
import { WeightSets, type WeightSet } from './weight-sets.ts';
import { weightsLayout, type WeightsLayout } from './weights-layout.ts';

export interface EmbeddedEngineSettings {
  config: DecoderConfig;
  /** Default: `cpu`. */
  device?: DeviceName;
  threads: number;
  /** Sequences decoded together. Part of what a sample's last bits depend on. */
  slots: number;
  /** Default: every weight is trained, with the language model's head. */
  training?: TrainingSetup;
}

/** The parent and the reference policy: an engine that only trains is never asked to load, and must not gather versions. */
const KEPT_BESIDE_SAVED = 2;

export class EmbeddedEngine implements Engine {
  readonly #settings: EmbeddedEngineSettings;
  readonly #device: DeviceName;
  readonly #layout: WeightsLayout;
  readonly #sets: WeightSets;
  readonly #loading = new Map<string, Promise<WeightSet>>();
  #generator: Generator | undefined;
  #scorer: Scorer | undefined;
  #trainer: Trainer | undefined;
  #trainingSeconds = 0;
  /** Of generators that were released. */
  #generatingSeconds = 0;
  #lastTraining: Promise<unknown> = Promise.resolve();
  #available: Promise<void> | undefined;

  constructor(settings: EmbeddedEngineSettings) {
    this.#settings = settings;
    this.#device = settings.device ?? 'cpu';
    this.#layout = weightsLayout(settings.config);
    this.#sets = new WeightSets(this.#layout);
  }

  async describe(): Promise<EngineDescription> {
    const { threads, slots } = this.#settings;
    return {
      device: this.#device,
      threads,
      slots,
      parameters: this.#layout.parameters,
      processId: process.pid,
      peakMemoryBytes: process.resourceUsage().maxRSS * 1024,
      busySeconds: this.#trainingSeconds + this.#generatingSeconds + (this.#generator?.busySeconds ?? 0),
      held: this.#sets.tags,
    };
  }

  async load(source: WeightsSource, keep = 1): Promise<void> {
    await this.#hold(source);
    this.#sets.trim(source.tag, keep);
  }

  async release(parts: readonly EngineMemory[]): Promise<void> {
    if (parts.includes('weights')) this.#sets.clear();
    if (parts.includes('cache')) {
      const generator = this.#generator;
      this.#generator = undefined;
      await generator?.close();
      this.#generatingSeconds += generator?.busySeconds ?? 0;
    }
    collectGarbage();
  }

  async generate(
    request: GenerationRequest,
    onCompletions: (completions: Completion[]) => void,
    signal?: AbortSignal,
  ): Promise<void> {
    const { tensors } = this.#sets.get(request.weights);
    const { config, threads, slots } = this.#settings;
    // Each step would carry all weights and the KV cache to a CUDA device and back.
    const device = this.#device === 'cuda' ? 'cpu' : this.#device;
    this.#generator ??= new Generator(config, { threads, slots, device });
    await this.#generator.generate(tensors, request, onCompletions, signal);
  }

  async score(weights: string, rows: ScoredRows, temperature: number): Promise<Float32Array> {
    const { tensors } = this.#sets.get(weights);
    const { config, threads } = this.#settings;
    this.#scorer ??= new Scorer(config, { threads, device: this.#device });
    const scorer = this.#scorer;
    return this.#timed(() => scorer.score(tensors, rows, temperature));
  }

  async values(): Promise<Float32Array> {
    throw new RekindleError('EngineError', 'the language model has no values', { permanent: true });
  }

  beginUpdate(weights: WeightsSource, optimizer: WeightsSource | null, optimizerStep: number): Promise<void> {
    return this.#inOrder(async () => {
      const { flat } = await this.#hold(weights);
      const moments = optimizer && (await readMoments(optimizer.path, this.#layout, optimizerStep));
      const { config, threads } = this.#settings;
      this.#trainer ??= new Trainer(config, { threads, device: this.#device });
      this.#trainer.beginUpdate(flat, moments, optimizerStep);
    });
  }

  forwardBackward(rows: RowBatch, loss: LossSettings, temperature: number): Promise<ForwardBackwardResult> {
    return this.#inOrder(async () =>
      this.#timed(() => this.#updating().forwardBackward(rows, loss, temperature)),
    );
  }

  optimizerStep(settings: StepSettings): Promise<{ gradientNorm: number; applied: boolean }> {
    return this.#inOrder(async () => this.#timed(() => this.#updating().optimizerStep(settings)));
  }

  /** The saved weights are held from then on, as if loaded from the file, and with them the two sets last used. */
  save(folder: string): Promise<SavedPolicy> {
    return this.#inOrder(async () => {
      const { weights, moments, step } = this.#updating();
      await mkdir(folder, { recursive: true });
      const weightsPath = join(folder, 'model.safetensors');
      const optimizerPath = join(folder, 'optimizer.safetensors');
      const weightsTag = await writeWeights(weightsPath, this.#layout, weights);
      await writeMoments(optimizerPath, moments, step);
      this.#sets.add(weightsTag, weights.slice());
      this.#sets.trim(weightsTag, KEPT_BESIDE_SAVED);
      return { weightsPath, optimizerPath, weightsTag };
    });
  }

  async close(): Promise<void> {
    await Promise.all([this.#lastTraining, this.#generator?.close()]);
    this.#trainer?.close();
    this.#scorer?.close();
  }

  /** Reads a set unless it is held; calls for the same set share one reading. */
  async #hold({ tag, path }: WeightsSource): Promise<WeightSet> {
    const held = this.#sets.find(tag);
    if (held) return held;
    if (this.#device !== 'cpu') await (this.#available ??= this.#requireDevice(this.#device));
    let loading = this.#loading.get(tag);
    if (!loading) {
      loading = readWeights(path, this.#layout)
        .then((flat) => this.#sets.add(tag, flat))
        .finally(() => this.#loading.delete(tag));
      this.#loading.set(tag, loading);
    }
    return loading;
  }

  async #requireDevice(device: DeviceName): Promise<void> {
    requireAvailable(await probeDevice(device, { depth: 'open' }));
  }

  /** The trainer of the update in progress; an engine that was restarted has none, and must not train zeros in its place. */
  #updating(): Trainer {
    if (this.#trainer) return this.#trainer;
    throw new RekindleError('EngineError', 'no update was begun', {
      hint: 'Call beginUpdate first; an engine that was restarted has lost the update that was in progress.',
    });
  }

  #inOrder<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#lastTraining.then(work);
    this.#lastTraining = result.catch(() => undefined);
    return result;
  }

  #timed<T>(work: () => T): T {
    const began = performance.now();
    try {
      return work();
    } finally {
      this.#trainingSeconds += (performance.now() - began) / 1000;
    }
  }
}
