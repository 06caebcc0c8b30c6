/** The activities of each worker pool, as workflows call them. */
import type {
  Candidate,
  CloseRunResult,
  OpenRunResult,
  PrepareBatchResult,
  RolloutShardInput,
  RolloutShardResult,
  ShapeRewardsResult,
} from '../core/contracts.ts';
import type * as contracts from '../core/contracts.ts';
import type { Evaluation, LogEntry } from '../core/records.ts';
import type { z } from 'zod';

type EpisodeTurn = z.infer<typeof contracts.episodeTurnSchema>;

export interface CpuActivities {
  openRun(input: z.input<typeof contracts.openRunInputSchema>): Promise<OpenRunResult>;
  prepareBatch(input: z.infer<typeof contracts.prepareBatchInputSchema>): Promise<PrepareBatchResult>;
  collectEpisodes(input: z.infer<typeof contracts.collectEpisodesInputSchema>): Promise<RolloutShardResult>;
  shapeRewards(input: z.infer<typeof contracts.shapeRewardsInputSchema>): Promise<ShapeRewardsResult>;
  commitVersion(input: z.infer<typeof contracts.commitVersionInputSchema>): Promise<LogEntry>;
  rollBack(input: z.infer<typeof contracts.rollBackInputSchema>): Promise<LogEntry>;
  publishMetrics(input: z.infer<typeof contracts.publishMetricsInputSchema>): Promise<{ published: number }>;
  summarizeEvaluation(input: z.infer<typeof contracts.summarizeEvaluationInputSchema>): Promise<Evaluation>;
  closeRun(input: z.infer<typeof contracts.closeRunInputSchema>): Promise<CloseRunResult>;
  examineRun(
    input: z.infer<typeof contracts.examineRunInputSchema>,
  ): Promise<z.infer<typeof contracts.examineRunResultSchema>>;
}

export interface RolloutActivities {
  rolloutShard(input: RolloutShardInput): Promise<RolloutShardResult>;
  agentTurn(input: EpisodeTurn): Promise<z.infer<typeof contracts.agentTurnResultSchema>>;
  syncWeights(input: z.infer<typeof contracts.syncWeightsInputSchema>): Promise<{ held: string }>;
}

export interface EnvActivities {
  openEnvironment(
    input: z.infer<typeof contracts.openEnvironmentInputSchema>,
  ): ReturnType<EnvActivities['environmentStep']>;
  environmentStep(input: EpisodeTurn): Promise<z.infer<typeof contracts.environmentStepResultSchema>>;
}

export interface TrainActivities {
  updateActor(input: z.infer<typeof contracts.updateActorInputSchema>): Promise<Candidate>;
  warmStartActor(input: z.infer<typeof contracts.warmStartInputSchema>): Promise<Candidate>;
}
