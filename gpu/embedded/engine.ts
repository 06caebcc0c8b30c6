/**
 * The embedded engine: onnxruntime on the CPU in this process, whose native calls block the thread (see engine-client.ts for the
 * engine in a process of its own).
 *
 * Held weight sets never change, so generation and scoring go on undisturbed while training works on a copy of its own. Calls
 * that touch the trained policy run one after the other, in the order in which they came.
 */
import type { DeviceName } from '../../core/devices.ts';
import { RekindleError } from '../../core/errors.ts';
import type { LossSettings } from '../../core/loss/settings.ts';
import { requireAvailable } from '../devices/device-report.ts';
import { probeDevice } from '../devices/probe.ts';
import { readAdapter, readAdapterForm } from '../adapters/adapter-files.ts';
import { AdapterMerger } from '../adapters/merge.ts';
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
  TokenDelta,
  WeightsSource,
} from '../engine-port.ts';
import { loadTokenizer, type Tokenizer } from '../tokenizer/index.ts';
import { trainEverything, type PolicyHead, type TrainingSetup } from '../training-setup.ts';
import { collectGarbage } from './collect-garbage.ts';
import { Generator } from './generator.ts';
import { readWeights } from './policy-files.ts';
import { PolicyUpdate } from './policy-update.ts';
import { Scorer } from './scorer.ts';
import { trainingPlan, type TrainingPlan } from './training-plan.ts';
import { notHeld, WeightSets, type WeightSet } from './weight-sets.ts';
import { weightTensors } from './weight-tensors.ts';

export interface EmbeddedEngineSettings {
  config: DecoderConfig;
  /** Default: `cpu`. */
  device?: DeviceName;
  threads: number;
  /** Sequences decoded together, at most. */
  slots: number;
  /** Files of the tokenizer by name; without them, requests with stop strings are refused. */
  tokenizerFiles?: Readonly<Record<string, Uint8Array>>;
  /** Default: every weight is trained, with the language model's head. */
  training?: TrainingSetup;
}

/** The reference policy: an engine that only trains is never asked to load, and must not gather versions. */
const KEPT_BESIDE_PARENT = 1;

export class EmbeddedEngine implements Engine {
  readonly #settings: EmbeddedEngineSettings;
  readonly #device: DeviceName;
  readonly #plan: TrainingPlan;
  readonly #sets = new WeightSets();
  readonly #update: PolicyUpdate;
  readonly #loading = new Map<string, Promise<WeightSet>>();
  #generator: Generator | undefined;
  #tokenizer: Tokenizer | undefined;
  #scorer: Scorer | undefined;
  #merger: AdapterMerger | undefined;
  #trainingSeconds = 0;
  /** Of generators that were released. */
  #generatingSeconds = 0;
  #lastTraining: Promise<unknown> = Promise.resolve();
  #available: Promise<void> | undefined;

  /** @throws RekindleError RecipeError for a training setup that does not fit the model. */
  constructor(settings: EmbeddedEngineSettings) {
    this.#settings = settings;
    this.#device = settings.device ?? 'cpu';
    this.#plan = trainingPlan(settings.config, settings.training ?? trainEverything);
    const options = { threads: settings.threads, device: this.#device };
    this.#update = new PolicyUpdate(this.#plan, options, {
      find: (tag) => this.#sets.find(tag),
      hold: (source) => this.#hold(source),
    });
  }

  async describe(): Promise<EngineDescription> {
    const { threads, slots } = this.#settings;
    return {
      device: this.#device,
      threads,
      slots,
      parameters: this.#plan.base.parameters,
      processId: process.pid,
      peakMemoryBytes: process.resourceUsage().maxRSS * 1024,
      busySeconds: this.#trainingSeconds + this.#generatingSeconds + (this.#generator?.busySeconds ?? 0),
      held: [...new Set([...this.#sets.tags, ...(this.#update.tag === undefined ? [] : [this.#update.tag])])],
    };
  }

  async load(source: WeightsSource, keep = 1): Promise<void> {
    await this.#hold(source);
    this.#sets.trim(source.tag, keep);
  }

  async release(parts: readonly EngineMemory[]): Promise<void> {
    if (parts.includes('weights')) this.#sets.clear();
    if (parts.includes('cache')) await this.#closeGenerator();
    await collectGarbage();
  }

  async generate(
    request: GenerationRequest,
    onCompletions: (completions: Completion[]) => void,
    signal?: AbortSignal,
    onTokens?: (deltas: TokenDelta[]) => void,
  ): Promise<void> {
    this.#requireHead(['token'], 'generates');
    const { tensors } = this.#get(request.weights);
    const { config, threads, slots, tokenizerFiles } = this.#settings;
    // Each step would carry all weights and the KV cache to a CUDA device and back.
    const device = this.#device === 'cuda' ? 'cpu' : this.#device;
    this.#tokenizer ??= tokenizerFiles && loadTokenizer(tokenizerFiles);
    this.#generator ??= new Generator(config, { threads, slots, device, tokenizer: this.#tokenizer });
    await this.#generator.generate(tensors, request, onCompletions, signal, onTokens);
  }

  async score(weights: string, rows: ScoredRows, temperature: number): Promise<Float32Array> {
    this.#requireHead(['token'], 'scores');
    const { tensors } = this.#get(weights);
    return this.#timed(() => this.#scoring().score(tensors, rows, temperature));
  }

  async values(weights: string, rows: ScoredRows): Promise<Float32Array> {
    this.#requireHead(['value', 'reward'], 'has values');
    const { tensors } = this.#get(weights);
    return this.#timed(() => this.#scoring().values(tensors, rows));
  }

  beginUpdate(weights: WeightsSource, optimizer: WeightsSource | null, optimizerStep: number): Promise<void> {
    return this.#inOrder(async () => {
      await this.#update.begin(weights, optimizer, optimizerStep);
      this.#sets.trim((weights.base ?? weights).tag, KEPT_BESIDE_PARENT);
    });
  }

  forwardBackward(rows: RowBatch, loss: LossSettings, temperature: number): Promise<ForwardBackwardResult> {
    return this.#inOrder(async () =>
      this.#timed(() => this.#update.trainer.forwardBackward(rows, loss, temperature)),
    );
  }

  optimizerStep(settings: StepSettings): Promise<{ gradientNorm: number; applied: boolean }> {
    return this.#inOrder(async () => this.#timed(() => this.#update.changing().optimizerStep(settings)));
  }

  /** The saved weights are held until the next step changes them, and from then on if they were used before. */
  save(folder: string): Promise<SavedPolicy> {
    return this.#inOrder(() => this.#update.save(folder));
  }

  async close(): Promise<void> {
    await Promise.all([this.#lastTraining, this.#generator?.close()]);
    this.#update.close();
    this.#merger?.close();
    this.#scorer?.close();
  }

  /** A set that is held, or is what the trainer's arrays hold. */
  #find(tag: string): WeightSet | undefined {
    return (
      this.#sets.find(tag) ??
      (this.#update.tag === tag ? this.#sets.add(tag, this.#update.copy()) : undefined)
    );
  }

  /** @throws RekindleError EngineError when the set is not held. */
  #get(tag: string): WeightSet {
    const set = this.#find(tag);
    if (set) return set;
    throw notHeld(tag);
  }

  async #closeGenerator(): Promise<void> {
    const generator = this.#generator;
    this.#generator = undefined;
    await generator?.close();
    this.#generatingSeconds += generator?.busySeconds ?? 0;
  }

  /** Reads a set unless it is held; calls for the same set share one reading. */
  async #hold(source: WeightsSource): Promise<WeightSet> {
    const { tag } = source;
    const held = this.#find(tag);
    if (held) return held;
    if (this.#device !== 'cpu') await (this.#available ??= this.#requireDevice(this.#device));
    let loading = this.#loading.get(tag);
    if (!loading) {
      loading = this.#read(source)
        .then((set) => this.#sets.add(tag, set))
        .finally(() => this.#loading.delete(tag));
      this.#loading.set(tag, loading);
    }
    return loading;
  }

  async #read({ path, base }: WeightsSource): Promise<WeightSet> {
    const layout = this.#plan.base;
    if (base === undefined) return { tensors: weightTensors(layout, await readWeights(path, layout)) };
    const { tensors } = await this.#hold(base);
    const form = await readAdapterForm(path);
    const adapter = await readAdapter(path, layout, form);
    this.#merger ??= new AdapterMerger({ threads: this.#settings.threads });
    return {
      tensors: this.#merger.merge(tensors, layout, form.settings, adapter, form.scored),
      base: base.tag,
    };
  }

  #scoring(): Scorer {
    const { config, threads, training } = this.#settings;
    const head = training?.head ?? 'token';
    // An adapter's weights are merged, but its score stands in no base.
    this.#scorer ??= new Scorer(
      config,
      { threads, device: this.#device },
      trainingPlan(config, { ...trainEverything, head }),
    );
    return this.#scorer;
  }

  #requireHead(heads: readonly PolicyHead[], deed: string): void {
    const { head } = this.#plan.setup;
    if (heads.includes(head)) return;
    throw new RekindleError('EngineError', `a policy with a ${head} head never ${deed}`, { permanent: true });
  }

  async #requireDevice(device: DeviceName): Promise<void> {
    requireAvailable(await probeDevice(device, { depth: 'open' }));
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
