/** The activities of each pool. */
import type { CpuActivities, EnvActivities, RolloutActivities, TrainActivities } from './interface.ts';
import { prepareBatch } from './data/batches.ts';
import { environmentStep } from './environment/environment-step.ts';
import { openEnvironment } from './environment/open-environment.ts';
import { summarizeEvaluation } from './evaluation/summarize-evaluation.ts';
import { publishMetrics } from './report/publish-metrics.ts';
import { shapeRewards } from './reward/shape-rewards.ts';
import { agentTurn } from './rollout/agent-turn.ts';
import { collectEpisodes } from './rollout/collect-episodes.ts';
import { rolloutShard } from './rollout/rollout-shard.ts';
import { closeRun } from './run/close-run.ts';
import { openRun } from './run/open-run.ts';
import type { Services } from './services.ts';
import { updateActor } from './training/update-actor.ts';
import { warmStartActor } from './training/warm-start-actor.ts';
import type { TemporalPort } from './watchdog/pending-work.ts';
import { examineRun } from './watchdog/examine-run.ts';
import { commitVersion } from './weights/commit-version.ts';
import { rollBack } from './weights/roll-back.ts';
import { syncWeights } from './weights/sync-weights.ts';

export function cpuActivities(services: Services, temporal: TemporalPort): CpuActivities {
  return {
    openRun: openRun(services),
    prepareBatch: prepareBatch(services),
    collectEpisodes: collectEpisodes(services),
    shapeRewards: shapeRewards(services),
    commitVersion: commitVersion(services),
    rollBack: rollBack(services),
    publishMetrics: publishMetrics(services),
    summarizeEvaluation: summarizeEvaluation(services),
    closeRun: closeRun(services),
    examineRun: examineRun(services, temporal),
  };
}

export function envActivities(services: Services): EnvActivities {
  return { openEnvironment: openEnvironment(services), environmentStep: environmentStep(services) };
}

export function rolloutActivities(services: Services): RolloutActivities {
  return {
    rolloutShard: rolloutShard(services),
    agentTurn: agentTurn(services),
    syncWeights: syncWeights(services),
  };
}

export function trainActivities(services: Services): TrainActivities {
  return { updateActor: updateActor(services), warmStartActor: warmStartActor(services) };
}
