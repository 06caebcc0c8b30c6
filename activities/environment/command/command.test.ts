import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { RewardSettings } from '../../../core/recipe.ts';
import { identify } from '../../../deploy/supervision/process-identity.ts';
import { scratchFolder } from '../../../tests/harness/scratch-folder.ts';
import type { Environment, EpisodeSoFar } from '../environment.ts';
import { command } from './command.ts';
import { LivePrograms } from './live-programs.ts';

const numberGuess = fileURLToPath(new URL('../../../recipes/environments/number-guess.mjs', import.meta.url));
const rewards: RewardSettings[] = [{ kind: 'environment', name: 'solved', weight: 2 }];
const task = { id: 'sum', prompt: '1+2=', answer: '3' };
const { signal } = new AbortController();

interface Setup {
  environment: Environment;
  programs: LivePrograms;
  /** Every program that was started; those that have ended are in `ended`. */
  started: number[];
  ended: number[];
}

function setUp(
  args: string[],
  options: { maxTurns?: number; timeoutSeconds?: number; idle?: number } = {},
): Setup {
  const [started, ended]: [number[], number[]] = [[], []];
  const register = {
    add: (pid: number) => void started.push(pid),
    remove: (pid: number) => void ended.push(pid),
  };
  const programs = new LivePrograms(register, { programs: options.idle ?? 8, seconds: 60 });
  onTestFinished(() => programs.close());
  const { maxTurns = 5, timeoutSeconds = 20 } = options;
  const settings = { kind: 'command' as const, command: args, maxTurns, timeoutSeconds };
  return { environment: command(settings, rewards, programs), programs, started, ended };
}

/** A program of a few lines of JavaScript that answers each `message` with what `body` returns. */
function script(body: string): string[] {
  const file = join(scratchFolder(), 'environment.mjs');
  writeFileSync(
    file,
    `import { createInterface } from 'node:readline';
     for await (const line of createInterface({ input: process.stdin })) {
       const message = JSON.parse(line);
       console.log(JSON.stringify(await answer(message)));
     }
     async function answer(message) { ${body} }`,
  );
  return [process.execPath, file];
}

function soFar(observations: string[], responses: string[], key = 'e'): EpisodeSoFar {
  return { run: 'r', key, task, seed: 7, observations, responses };
}

describe('the program of an environment', () => {
  it('plays an episode in one process, which ends with it', async () => {
    const { environment, started, ended } = setUp([process.execPath, numberGuess]);
    expect(await environment.open(soFar([], []), signal)).toBe('1+2=');
    expect(await environment.step(soFar(['1+2='], ['5']), signal)).toEqual({ observation: '>:' });
    expect(await environment.step(soFar(['1+2=', '>:'], ['5', '3']), signal)).toEqual({
      verdict: { outcome: 'scored', rewards: { solved: 1 }, reward: 2 },
    });
    expect(started).toHaveLength(1);
    await expect.poll(() => ended).toEqual(started);
  });

  it('that was killed in mid-episode is started again and told what was said', async () => {
    const { environment, started, ended } = setUp([process.execPath, numberGuess]);
    await environment.open(soFar([], []), signal);
    await environment.step(soFar(['1+2='], ['5']), signal);
    process.kill(started[0]!, 'SIGKILL');
    await expect.poll(() => ended).toEqual([started[0]]);
    expect(await environment.step(soFar(['1+2=', '>:'], ['5', '1']), signal)).toEqual({ observation: '<:' });
    expect(started).toHaveLength(2);
  });

  it('is asked what the episode is worth when its turns are over', async () => {
    const { environment } = setUp([process.execPath, numberGuess], { maxTurns: 1 });
    expect(await environment.step(soFar(['1+2='], ['5']), signal)).toEqual({
      verdict: { outcome: 'truncated', reason: '1 turns', rewards: { solved: 0 }, reward: 0 },
    });
  });

  it('is stopped when more wait than may', async () => {
    const { environment, started, ended } = setUp([process.execPath, numberGuess], { idle: 1 });
    await environment.open(soFar([], [], 'one'), signal);
    await environment.open(soFar([], [], 'two'), signal);
    await expect.poll(() => ended).toEqual([started[0]]);
  });

  it('carries its run and episode in its variables, and gets the whole task and the seed', async () => {
    const said =
      '{ observation: [process.env.REKINDLE_RUN, process.env.REKINDLE_EPISODE, message.task.answer, message.seed].join() }';
    const { environment } = setUp(script(`return ${said}`));
    expect(await environment.open(soFar([], []), signal)).toBe('r,e,3,7');
  });

  it('ends with the worker, with the processes that it started, even if it reads no more', async () => {
    const child = `import('node:child_process').then(({ spawn }) => spawn('sleep', ['1000'], { stdio: 'ignore' }).pid)`;
    const { environment, programs, started } = setUp(
      script(`setInterval(() => undefined, 1000); return { observation: String(await ${child}) };`),
    );
    const grandchild = Number(await environment.open(soFar([], []), signal));
    expect(isRunning(grandchild)).toBe(true);
    await programs.close();
    await expect.poll(() => isRunning(started[0]!) || isRunning(grandchild)).toBe(false);
  });
});

describe('a fault of the program is told with what to look at', () => {
  it.each([
    [
      'exits',
      `console.error('out of cards'); process.exit(3);`,
      /ended with exit code 3; .*\nout of cards$/s,
    ],
    [
      'hangs',
      'await new Promise((resolve) => setTimeout(resolve, 60_000));',
      /gave no answer within 0.3 s and was killed/,
    ],
  ])('when it %s, which a fresh start may mend', async (_, body, message) => {
    const { environment } = setUp(script(body), { timeoutSeconds: body.includes('setTimeout') ? 0.3 : 20 });
    const opening = environment.open(soFar([], []), signal);
    await expect(opening).rejects.toThrow(message);
    await expect(opening).rejects.toMatchObject({ kind: 'EnvironmentError', retryable: true });
  });

  it('when it does not say again what was recorded', async () => {
    const { environment } = setUp(
      script(`return { observation: message.type === 'open' ? 'go' : String(process.pid) }`),
    );
    const replayed = environment.step(soFar(['go', '1', '2'], ['a', 'b', 'c']), signal);
    await expect(replayed).rejects.toThrow(
      /says something else at turn 1: .* recorded is "1"; it is not deterministic/,
    );
  });

  it.each([
    [
      'writes something else',
      `return 'hello'`,
      /line 1 of the program: .*hello.* expected \{"observation": "text"\}/,
    ],
    [
      'writes unasked',
      `console.log('{"observation": "a"}'); return { observation: 'b' }`,
      /line 2 .* answers nothing that was asked/,
    ],
  ])('when it %s, which would come again', async (_, body, message) => {
    const { environment } = setUp(script(body));
    const playing = environment.open(soFar([], []), signal).then(async (said) => {
      await delay(200); // until the second line is there
      return environment.step(soFar([said], ['x']), signal);
    });
    await expect(playing).rejects.toThrow(message);
    await expect(playing).rejects.toMatchObject({ kind: 'EnvironmentError', retryable: false });
  });

  it('when there is no such program', async () => {
    const { environment } = setUp(['/nowhere/environment']);
    const opening = environment.open(soFar([], []), signal);
    await expect(opening).rejects.toThrow(/cannot be started: .*ENOENT/);
    await expect(opening).rejects.toMatchObject({ kind: 'EnvironmentError', retryable: false });
  });

  it('when the activity is cancelled, the program is killed', async () => {
    const { environment, started } = setUp(script('await new Promise(() => setInterval(() => 0, 1000));'));
    const cancelled = new AbortController();
    const opening = environment.open(soFar([], []), cancelled.signal);
    setTimeout(() => cancelled.abort(new Error('cancelled')), 100);
    await expect(opening).rejects.toThrow('cancelled');
    await expect.poll(() => isRunning(started[0]!)).toBe(false);
  });
});

/** A process that has ended and that nobody has asked after does not count. */
function isRunning(pid: number): boolean {
  return identify(pid) !== undefined;
}
