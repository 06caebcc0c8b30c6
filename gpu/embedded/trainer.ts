/**
 * Trains one policy: gradients add up over calls of `forwardBackward` until `optimizerStep` uses and clears them.
 * Everything it computes is a function of the weights, moments and rows given: same inputs, same bits, on any number of threads.
 *
 * Weights, gradients and moments of what is trained lie in a state on the trainer's device, in the plan's layout; the tensors
 * that are not trained are read where the caller has them.
 */
import { positionLimit } from '../../core/activation-memory.ts';
import { RekindleError } from '../../core/errors.ts';
import { evaluatePairs } from '../../core/loss/pair-loss.ts';
import type { LossSettings, RewardLossSettings } from '../../core/loss/settings.ts';
import type { ForwardBackwardResult, RowBatch, StepSettings } from '../engine-port.ts';
import type { DecoderConfig } from '../model/decoder-config.ts';
import { trainEverything, type PolicyHead, type TrainingSetup } from '../training-setup.ts';
import { GatheredOutputs } from './gathered-outputs.ts';
import { lossForm, type GraphLoss } from './graph-loss.ts';
import { LossSession } from './loss-session.ts';
import { openState } from './open-place.ts';
import { atLastTokens, ofLastTokens, rewardRows } from './reward-rows.ts';
import { packRows } from './row-packing.ts';
import { Scorer } from './scorer.ts';
import type { SessionOptions, Tensor } from './session.ts';
import type { Moments, TrainedState, WeightTensors } from './trained-state.ts';
import { trainingPlan, type TrainingPlan } from './training-plan.ts';

export type { Moments, WeightTensors } from './trained-state.ts';

export interface TrainerOptions extends SessionOptions {
  /** Default: everything, with the language model's head. */
  setup?: TrainingSetup;
  /** Most positions in one run of the graph, padding included; bounds the memory for activations. */
  tokenLimit?: number;
}

export class Trainer {
  readonly plan: TrainingPlan;
  readonly #options: TrainerOptions;
  readonly #state: TrainedState;
  readonly #sessions = new Map<string, LossSession>();
  #scorer: Scorer | undefined;
  #fixed: WeightTensors = {};
  #step = 0;

  /** @throws RekindleError RecipeError for a setup that does not fit the model. */
  constructor(config: DecoderConfig, options: TrainerOptions) {
    this.plan = trainingPlan(config, options.setup ?? trainEverything);
    this.#options = options;
    this.#state = openState(this.plan, options.device);
  }

  /** The trained weights, flat, in the plan's layout; on the CPU changed by the next step, else a copy. */
  get weights(): Float32Array {
    return this.#state.weights;
  }

  /** Gradients gathered since the last step, flat. */
  get gradients(): Float32Array {
    return this.#state.gradients;
  }

  get moments(): Moments {
    return this.#state.moments;
  }

  /** Optimizer steps since the moments were zero. */
  get step(): number {
    return this.#step;
  }

  /** All tensors of the policy by name: views of the trained ones, and those that are not trained. */
  get tensors(): WeightTensors {
    return { ...this.#fixed, ...this.#state.tensors };
  }

  /**
   * Starts from `weights` and `moments` (zero when null), after `step` optimizer steps; drops gathered gradients. They are copied,
   * unless they are the trainer's own arrays, filled by the caller.
   * @param fixed The tensors that the plan does not train; they must not change while they are in use.
   */
  beginUpdate(weights: Float32Array, moments: Moments | null, step: number, fixed: WeightTensors = {}): void {
    this.#state.begin(weights, moments);
    this.#fixed = this.#state.fixed(fixed);
    this.#step = step;
  }

  /**
   * Adds the gradients of sum over trained tokens (rows, pairs) of weight * loss.
   * @throws RekindleError DataError for a batch that packRows refuses, EngineError for a loss of another head.
   */
  forwardBackward(batch: RowBatch, loss: LossSettings, temperature: number): ForwardBackwardResult {
    const { head } = this.plan.setup;
    const needed = headOf(loss);
    if (needed !== head) {
      throw new RekindleError(
        'EngineError',
        `loss ${loss.name} needs a ${needed} head, this policy's is ${head}`,
        {
          permanent: true,
        },
      );
    }
    switch (loss.name) {
      case 'reward-mse':
      case 'reward-pairs':
        return this.#rewardPass(batch, loss);
      default:
        return this.#tokenPass(batch, loss, temperature);
    }
  }

  /**
   * Clips, steps and clears the gradients. A gradient that is not finite changes neither weights nor moments; a step that makes
   * a weight infinite or NaN (`applied` is false then too) must be undone by beginning anew.
   */
  optimizerStep(settings: StepSettings): { gradientNorm: number; applied: boolean } {
    const outcome = this.#state.step(settings, this.#step + 1);
    if (outcome.applied) this.#step++;
    return outcome;
  }

  close(): void {
    this.#scorer?.close();
    for (const session of this.#sessions.values()) session.close();
    this.#sessions.clear();
    this.#state.close();
  }

  #tokenPass(
    batch: RowBatch,
    loss: GraphLoss,
    temperature: number,
    maxPositions = this.plan.config.maxPositions,
  ): ForwardBackwardResult {
    const { config, setup } = this.plan;
    const session = this.#session(loss);
    const gathered = new GatheredOutputs(setup.head, batch, session.metrics);
    const weights = { ...this.tensors, ...this.#state.accumulated };
    const limitOf = (rowPositions: number): number =>
      this.#options.tokenLimit ?? positionLimit(config, rowPositions, setup.checkpointing);
    for (const packed of packRows(batch, { ...config, maxPositions, limitOf })) {
      const run = { packed, batch, loss, temperature, weights, gradients: this.#state.gradientFetches };
      const embeddedGradient = (): Tensor => this.#state.embeddedGradient(packed.ids.length);
      const outputs = session.run({ ...run, embeddedGradient });
      if (session.trainsEmbedding) this.#state.addEmbeddedGradient(packed.ids);
      gathered.add(packed.sources, outputs);
    }
    return gathered.result();
  }

  /** Pairs are scored first, all together: which rows share a run of the graph must not matter. */
  #rewardPass(batch: RowBatch, loss: RewardLossSettings): ForwardBackwardResult {
    const rows = rewardRows(batch);
    const targetsR = batch.targets ?? new Float32Array(batch.rowLengths.length);
    const pass = (weightsR: ArrayLike<number>, graphLoss: GraphLoss): ForwardBackwardResult => {
      const weights = atLastTokens(rows, weightsR);
      const returns = atLastTokens(rows, targetsR);
      const tokens = { ...batch, ...rows, weights, returns };
      const result = this.#tokenPass(tokens, graphLoss, 1, this.plan.config.maxPositions + 1);
      return { ...result, values: ofLastTokens(rows, result.values) };
    };
    if (loss.name === 'reward-mse') return pass(batch.weights, { name: 'value-mse' });
    if (batch.rowLengths.length % 2 !== 0) {
      throw new RekindleError(
        'DataError',
        `${batch.rowLengths.length} rows; expected pairs of chosen and rejected`,
      );
    }
    this.#scorer ??= new Scorer(this.plan.config, this.#options, this.plan);
    const pairs = evaluatePairs(this.#scorer.values(this.tensors, batch), batch.weights, targetsR);
    return { ...pass(pairs.gradientR, { name: 'value-sum' }), loss: pairs.loss, metrics: pairs.metrics };
  }

  #session(loss: GraphLoss): LossSession {
    const form = lossForm(loss);
    let session = this.#sessions.get(form);
    if (!session) {
      session = new LossSession(this.plan, loss, this.#options);
      this.#sessions.set(form, session);
    }
    return session;
  }
}

function headOf(loss: LossSettings): PolicyHead {
  if (loss.name === 'value-mse' || loss.name === 'value-clip') return 'value';
  return loss.name === 'reward-mse' || loss.name === 'reward-pairs' ? 'reward' : 'token';
}
