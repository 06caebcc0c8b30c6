import path from 'node:path';
import { openedRun, type OpenedRun } from '../../activities/run/opening.ts';
import { weightsSource } from '../../activities/weights/weights-source.ts';
import { RekindleError } from '../../core/errors.ts';
import { exportAdapter } from '../../gpu/adapters/export-adapter.ts';
import { openPolicyWeights } from '../../gpu/adapters/merged-weights.ts';
import { exportModel } from '../../gpu/model/export.ts';
import type { WeightsSource } from '../../gpu/engine-port.ts';
import { policyVersion, requireLog } from '../local-runs.ts';
import { contextOf, withCommonOptions, type CommonOptions } from '../terminal/context.ts';
import { parseNumber } from '../terminal/parse-number.ts';
import type { Register } from './command.ts';

interface ExportOptions extends CommonOptions {
  version?: string;
  to?: string;
  adapter?: boolean;
}

/** `rekindle export <run>`: a policy version as a folder that `transformers` loads. */
export const registerExport: Register = (program, io) => {
  withCommonOptions(program.command('export'))
    .description('write a policy version as a Hugging Face model folder')
    .argument('<run>')
    .option('--version <n>', 'policy version (default: the newest)')
    .option('--to <folder>', 'a folder that does not exist yet (default: <run>-v<n>)')
    .option('--adapter', "only the adapter of a LoRA run, in PEFT's format (default: merged into its base)")
    .action(async (run: string, options: ExportOptions) => {
      const { output, settings } = contextOf(io, options);
      const version =
        options.version === undefined
          ? undefined
          : parseNumber('--version', options.version, { least: 0, whole: true });
      const store = await requireLog(settings.home, run);
      const entry = await policyVersion(store, run, version);
      const opened = await openedRun(store, run);
      const source = await weightsSource(store, opened, entry.weights);
      const target = path.resolve(options.to ?? `${run}-v${entry.version}`);
      const folder = await write(opened, source, target, options.adapter ?? false).catch((error: unknown) => {
        throw cannotWrite(target, error);
      });
      output.result(
        { run, version: entry.version, weights: entry.weights.hash, folder },
        `policy version ${entry.version} of ${run}: ${folder}`,
      );
    });
};

/** The whole policy, an adapter merged into its base; or the adapter alone. */
async function write(
  { modelFileBytes: files, config, recipe }: OpenedRun,
  source: WeightsSource,
  folder: string,
  adapterOnly: boolean,
): Promise<string> {
  if (!adapterOnly) {
    return exportModel({ folder, files, openWeights: () => openPolicyWeights(config, source) });
  }
  if (recipe.adapter === undefined) {
    throw new RekindleError('UsageError', 'this run trains all weights and has no adapter', {
      hint: 'Leave out --adapter.',
    });
  }
  return exportAdapter({ folder, settings: recipe.adapter, weightsPath: source.path });
}

/** An error of the file system as one that names the folder that was asked for. */
export function cannotWrite(target: string, error: unknown): unknown {
  if (!(error instanceof Error) || !('syscall' in error)) return error;
  return new RekindleError('UsageError', `${target} cannot be written: ${error.message}`, {
    hint: 'Name a folder that this user may create, on a disk with space, with --to.',
    cause: error,
  });
}
