/** Running one step of the set-up as a child process. A step that fails ends the set-up with what to do about it. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../', import.meta.url));

export function say(line) {
  process.stderr.write(`rekindle setup: ${line}\n`);
}

/** Prints a problem with its remedy and ends the process. */
export function giveUp(problem, remedy) {
  process.stderr.write(`\nrekindle setup failed: ${problem}\n  ${remedy}\n`);
  process.exit(14);
}

/** Runs a command in the package root, its output going to stderr; ends the process when it fails. */
export function run(command, args, { title, remedy, env = {} }) {
  say(title);
  const started = Date.now();
  const { status, signal, error } = spawnSync(command, args, {
    cwd: root,
    stdio: ['ignore', 2, 2],
    env: { ...process.env, ...env },
  });
  if (status === 0) {
    say(`  done in ${((Date.now() - started) / 1000).toFixed(1)} s`);
    return;
  }
  const ending = error ? error.message : signal ? `killed by ${signal}` : `exit code ${status}`;
  giveUp(`${[command, ...args].join(' ')}: ${ending}`, remedy);
}
