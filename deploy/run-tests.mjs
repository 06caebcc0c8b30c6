/**
 * Runs vitest and ends with one line, `N passed, N failed, N skipped`, after the reason of each skipped test. Exit code 0
 * only when vitest came to its end, some test passed and none failed. Arguments are handed to vitest.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const vitest = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url));
const reporter = fileURLToPath(new URL('testing/count-reporter.mjs', import.meta.url));
const folder = mkdtempSync(path.join(tmpdir(), 'rekindle-tests-'));
const reportFile = path.join(folder, 'report.json');

try {
  const args = ['run', '--reporter=default', `--reporter=${reporter}`, ...process.argv.slice(2)];
  const { status, signal } = spawnSync(process.execPath, [vitest, ...args], {
    stdio: 'inherit',
    env: { ...process.env, REKINDLE_TEST_REPORT: reportFile },
  });
  const report = readReport();
  const problems = problemsOf(report, status, signal);
  for (const { name, reason } of report.skipped) {
    console.log(`skipped: ${name}: ${reason ?? 'no reason given'}`);
  }
  for (const problem of problems) console.log(`problem: ${problem}`);
  console.log(`${report.passed} passed, ${report.failed} failed, ${report.skipped.length} skipped`);
  process.exitCode = problems.length === 0 ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true });
}

function readReport() {
  try {
    return JSON.parse(readFileSync(reportFile, 'utf8'));
  } catch {
    return { passed: 0, failed: 0, skipped: [], unfinished: 0, missing: true };
  }
}

function problemsOf(report, status, signal) {
  const problems = [];
  if (report.missing) problems.push('vitest ended without a report');
  else if (report.passed + report.failed === 0) problems.push('no test ran');
  if (report.failed > 0) problems.push(`${report.failed} failed`);
  if (report.unfinished > 0) problems.push(`${report.unfinished} tests did not finish`);
  if (status !== 0 && problems.length === 0)
    problems.push(`vitest ended with ${signal ?? `exit code ${status}`}`);
  return problems;
}
