import { causes } from '../../core/errors.ts';
import type { Verification } from '../../store/verify.ts';
import { verifyLocalRun } from '../local-runs.ts';
import { contextOf, withCommonOptions, type CommonOptions } from '../terminal/context.ts';
import type { Colors } from '../terminal/output.ts';
import { formatTable } from '../terminal/table.ts';
import type { Register } from './command.ts';

/** `rekindle verify <run>`: audits a run from its store alone; a run with problems ends with exit code 13. */
export const registerVerify: Register = (program, io, setExitCode) => {
  withCommonOptions(program.command('verify'))
    .description('audit a run from its store alone: log, artifacts, tasks, updates')
    .argument('<run>')
    .action(async (run: string, options: CommonOptions) => {
      const { output, settings } = contextOf(io, options);
      const verification = await verifyLocalRun(settings.home, run);
      output.result(verification, renderVerification(verification, output.colors));
      if (!verification.ok) setExitCode(causes.CorruptArtifactError.exitCode);
    });
};

function renderVerification(verification: Verification, { green, red, bold }: Colors): string {
  const { ok, run, policyVersions, tasks, doubleSteps, artifacts, problems } = verification;
  const rows = [
    ['policy versions', String(policyVersions)],
    [
      'tasks',
      `${tasks.scheduled} scheduled, ${tasks.committed} committed, ${tasks.skipped} skipped, ${tasks.duplicated} duplicated`,
    ],
    ['double steps', String(doubleSteps)],
    ['artifacts', `${artifacts.checked} checked, ${artifacts.missing} missing, ${artifacts.corrupt} corrupt`],
  ];
  const verdict = ok ? green('✓ everything is accounted for') : red(`✗ ${problems.length} problems`);
  return [
    `${bold(run)} ${verdict}`,
    formatTable(rows),
    ...problems.map((problem) => `${red('✗')} ${problem}`),
  ].join('\n');
}
