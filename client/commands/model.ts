/** `rekindle model import | export | inspect`: models on disk and on the hub, without a run. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Command } from 'commander';
import { RekindleError } from '../../core/errors.ts';
import { downloadModel, isHubName } from '../../gpu/hub/hub-model.ts';
import { exportDtypes, exportModel, type ExportDtype } from '../../gpu/model/export.ts';
import { openModel } from '../../gpu/model/open-model.ts';
import { inspectModel, renderInspection } from '../inspect-model.ts';
import { contextOf, withCommonOptions, type CommonOptions } from '../terminal/context.ts';
import { interruptible, type Io } from '../terminal/io.ts';
import { ProgressBar } from '../terminal/progress-bar.ts';
import type { Register } from './command.ts';

interface WriteOptions extends CommonOptions {
  to: string;
  dtype?: string;
  maxShardSize?: string;
}

const sourceHelp =
  'a Hugging Face folder, a .gguf file, or <owner>/<name>[@<revision>][:<file>.gguf] on the hub';

/** A local path, or a model that is downloaded first. */
async function locate(source: string, io: Io): Promise<string> {
  if (existsSync(source) || !isHubName(source)) return path.resolve(source);
  const bar = new ProgressBar(io, `download ${source}`);
  try {
    return await interruptible(io, async (signal) => {
      const onProgress = ({ bytes, totalBytes }: { bytes: number; totalBytes: number }): void =>
        bar.show(bytes, totalBytes);
      return (await downloadModel(source, { onProgress, signal })).path;
    });
  } finally {
    bar.end();
  }
}

function parseDtype(dtype: string | undefined): ExportDtype {
  if (dtype === undefined) return 'f32';
  if (Object.hasOwn(exportDtypes, dtype)) return dtype as ExportDtype;
  throw new RekindleError(
    'UsageError',
    `--dtype ${dtype}, expected one of ${Object.keys(exportDtypes).join(', ')}`,
  );
}

const units = { '': 1, KB: 1e3, MB: 1e6, GB: 1e9 } as const;

function parseSize(size: string | undefined): number | undefined {
  if (size === undefined) return undefined;
  const [, number, unit] = /^(\d+(?:\.\d+)?) ?(KB|MB|GB|)$/i.exec(size) ?? [];
  const bytes = Number(number) * units[(unit ?? '').toUpperCase() as keyof typeof units];
  if (bytes > 0) return bytes;
  throw new RekindleError('UsageError', `--max-shard-size ${size}, expected a size such as 2GB or 500MB`);
}

/** Import and export are the same act: what is read is written as a Hugging Face folder. */
function registerWrite(model: Command, io: Io, name: 'import' | 'export', description: string): void {
  withCommonOptions(model.command(name))
    .description(description)
    .argument('<model>', sourceHelp)
    .requiredOption('--to <folder>', 'a folder that does not exist yet')
    .option('--dtype <dtype>', `${Object.keys(exportDtypes).join(', ')}; f32 is exact`, 'f32')
    .option('--max-shard-size <size>', 'weights in several files of at most this (such as 2GB)')
    .action(async (source: string, options: WriteOptions) => {
      const { output } = contextOf(io, options);
      const dtype = parseDtype(options.dtype);
      const maxShardBytes = parseSize(options.maxShardSize);
      const from = await locate(source, io);
      const opened = await openModel(from);
      const bar = new ProgressBar(io, `write ${options.to}`);
      const folder = await exportModel({
        ...opened,
        ...{ folder: options.to, dtype, maxShardBytes },
        onProgress: (done, total) => bar.show(done, total),
      }).finally(() => bar.end());
      output.result({ model: source, folder, dtype }, `${source} is in ${folder} (${dtype}).`);
    });
}

export const registerModel: Register = (program, io) => {
  const model = program.command('model').description('import, export and inspect models');
  registerWrite(model, io, 'import', 'write a model, downloaded or converted, as a Hugging Face folder');
  registerWrite(model, io, 'export', 'write a model folder anew: in another dtype, in several files');
  withCommonOptions(model.command('inspect'))
    .description('show what a model is and what it needs')
    .argument('<model>', sourceHelp)
    .action(async (source: string, options: CommonOptions) => {
      const { output } = contextOf(io, options);
      const inspection = await inspectModel(await locate(source, io));
      output.result(inspection, renderInspection(inspection));
    });
};
