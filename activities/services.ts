/** What activities need from the process that runs them. */
import type { DeviceName } from '../core/devices.ts';
import type { Engine } from '../gpu/engine-port.ts';
import type { DecoderConfig } from '../gpu/model/decoder-config.ts';
import type { TrainingSetup } from '../gpu/training-setup.ts';
import type { Store } from '../store/store.ts';
import type { LivePrograms } from './environment/command/live-programs.ts';
import { abandonable } from './abandonable-engine.ts';
import { abandonment } from './execution.ts';
import type { OpenedRun } from './run/opening.ts';

export interface Services {
  store: Store;
  /** Names this worker's queues among those of its pools: its host, or a device of it. */
  host: string;
  /** Folder that holds `training/<run>/` and `latest`. */
  runsFolder: string;
  engine(settings: EngineSettings): Engine;
  /** The programs of environments, which end with this process. */
  programs: LivePrograms;
}

export interface EngineSettings {
  /** The run that the engine works for, to whose journal its calls go. */
  run: string;
  /** Hash of the weights that the run's adapters add to; null for a run without adapters. */
  base: string | null;
  config: DecoderConfig;
  device: DeviceName;
  threads: number;
  slots: number;
  training: TrainingSetup;
  /** An engine that has work and does nothing for this long is killed. */
  hangSeconds: number;
}

/** The engine of a run, for the attempt that asks. */
export function engineFor(services: Services, run: string, { config, recipe, base }: OpenedRun): Engine {
  const { device, threads, slots, hangSeconds } = recipe.engine;
  const { frozen, checkpointing } = recipe.training;
  const training: TrainingSetup = { adapter: recipe.adapter ?? null, frozen, checkpointing, head: 'token' };
  const engine = services.engine({
    ...{ run, base: base && base.hash, config },
    ...{ device, threads, slots, training, hangSeconds },
  });
  return abandonable(engine, abandonment());
}
