import { examine } from '../doctor/examine.ts';
import type { Finding } from '../doctor/check.ts';
import { contextOf, withCommonOptions, type CommonOptions } from '../terminal/context.ts';
import type { Colors } from '../terminal/output.ts';
import { parseNumber } from '../terminal/parse-number.ts';
import { formatTable } from '../terminal/table.ts';
import type { Register } from './command.ts';

/** `rekindle doctor`: exit code 1 when something is broken. */
export const registerDoctor: Register = (program, io, setExitCode) => {
  withCommonOptions(program.command('doctor'))
    .description('check this machine, and say how to mend what is wrong')
    .action(async (options: CommonOptions) => {
      const { output, settings } = contextOf(io, options);
      const port = parseNumber('REKINDLE_TEMPORAL_PORT', io.env['REKINDLE_TEMPORAL_PORT'] ?? '7233', {
        least: 1,
        whole: true,
      });
      const findings = await examine(settings.home, port);
      const healthy = findings.every(({ verdict }) => verdict !== 'broken');
      output.result({ ok: healthy, findings }, renderFindings(findings, output.colors));
      if (!healthy) setExitCode(1);
    });
};

function renderFindings(findings: Finding[], { green, red, dim }: Colors): string {
  const marks = { ok: green('✓'), broken: red('✗'), info: dim('·') };
  return formatTable(
    findings.flatMap(({ name, verdict, detail, mend }) => [
      [marks[verdict], name, detail],
      ...(mend === null ? [] : [['', '', `→ ${mend}`]]),
    ]),
  );
}
