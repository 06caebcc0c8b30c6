/**
 * An engine in a child process. When the child dies, every call in flight fails with a retryable EngineError that says how it
 * ended, and the next call starts another child, which holds no weights yet.
 */
import type { LossSettings } from '../../core/loss/settings.ts';
import { RekindleError } from '../../core/errors.ts';
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
import { EngineChild, type EngineChildOptions } from './engine-child.ts';
import type { EmbeddedEngineSettings } from './engine.ts';
import type { ServeRequest } from '../serving/start-serving.ts';
import type { PlainCall } from './engine-protocol.ts';

export class EngineClient implements Engine {
  readonly #settings: EmbeddedEngineSettings;
  readonly #options: EngineChildOptions;
  #child: EngineChild | undefined;
  #closed = false;

  constructor(settings: EmbeddedEngineSettings, options: EngineChildOptions = {}) {
    this.#settings = settings;
    this.#options = options;
  }

  /** The child's process id; undefined before the first call and while no child runs. */
  get processId(): number | undefined {
    return this.#child?.alive ? this.#child.processId : undefined;
  }

  describe(): Promise<EngineDescription> {
    return this.#call('describe', []);
  }

  load(source: WeightsSource, keep?: number): Promise<void> {
    return this.#call('load', [source, keep]);
  }

  release(parts: readonly EngineMemory[]): Promise<void> {
    return this.#call('release', [parts]);
  }

  async generate(
    request: GenerationRequest,
    onCompletions: (completions: Completion[]) => void,
    signal?: AbortSignal,
    onTokens?: (deltas: TokenDelta[]) => void,
  ): Promise<void> {
    if (request.onAbort !== 'complete') signal?.throwIfAborted();
    await this.#running().generate(request, onCompletions, signal, onTokens);
  }

  score(weights: string, rows: ScoredRows, temperature: number): Promise<Float32Array> {
    return this.#call('score', [weights, rows, temperature]);
  }

  values(weights: string, rows: ScoredRows): Promise<Float32Array> {
    return this.#call('values', [weights, rows]);
  }

  beginUpdate(weights: WeightsSource, optimizer: WeightsSource | null, optimizerStep: number): Promise<void> {
    return this.#call('beginUpdate', [weights, optimizer, optimizerStep]);
  }

  forwardBackward(rows: RowBatch, loss: LossSettings, temperature: number): Promise<ForwardBackwardResult> {
    return this.#call('forwardBackward', [rows, loss, temperature]);
  }

  optimizerStep(settings: StepSettings): Promise<{ gradientNorm: number; applied: boolean }> {
    return this.#call('optimizerStep', [settings]);
  }

  save(folder: string): Promise<SavedPolicy> {
    return this.#call('save', [folder]);
  }

  /** Ends the child; calls in flight fail. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#child?.end();
  }

  /**
   * Serves a model over HTTP from the child, until the signal is aborted and what was in flight then has ended.
   * @throws RekindleError as `startServing`, EngineError when the child dies
   */
  async serve(
    request: ServeRequest,
    onListening: (port: number) => void,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#running().serve(request, onListening, signal);
  }

  async #call<Name extends PlainCall>(
    name: Name,
    args: Parameters<Engine[Name]>,
  ): Promise<Awaited<ReturnType<Engine[Name]>>> {
    return (await this.#running().call(name, args)) as Awaited<ReturnType<Engine[Name]>>;
  }

  #running(): EngineChild {
    if (this.#closed) throw new RekindleError('EngineError', 'the engine was closed');
    if (!this.#child?.alive) this.#child = new EngineChild(this.#settings, this.#options);
    return this.#child;
  }
}
