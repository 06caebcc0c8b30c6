import { execFile, execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { MetricName } from '../../core/metric-names.ts';
import { openJournal } from '../../store/journal.ts';
import { openLocalStore } from '../../store/local/open-local-store.ts';
import { writeSyntheticRun } from '../../tests/fixtures/synthetic-run.ts';
import { writeReport } from './write-report.ts';

const chromium = ['chromium', 'chromium-browser', 'google-chrome'].find((program) => {
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
});

let home: string;
let folder: string;
let page: string;

beforeAll(async () => {
  home = await mkdtemp(path.join(tmpdir(), 'rekindle-report-'));
  folder = path.join(home, 'runs', 'training', 'synthetic');
  const store = openLocalStore(path.join(home, 'store'));
  const metrics = (iteration: number, learned: number): Partial<Record<MetricName, number>> => ({
    'reward/mean': 0.3 + 0.6 * learned,
    'loss/policy': 0,
    'policy/entropy': 0.6 * (1 - learned),
    'policy/clip_fraction_high': 0.01 * iteration,
    'tokens/generated_per_second': 24_000,
  });
  const { run, meta } = await writeSyntheticRun(store, 'synthetic', 6, metrics);
  for (let life = 0; life < 2; life++) {
    const journal = openJournal(path.join(folder, 'logs'), 'train@host');
    const startedAt = new Date(life).toISOString();
    journal.write({
      event: 'attempt-started',
      activity: 'updateActor',
      attempt: 1 + life,
      pool: 'train',
      startedAt,
    });
    await journal.flush();
  }
  const rollout = openJournal(path.join(folder, 'logs'), 'rollout@host');
  const sync = { activity: 'syncWeights', attempt: 1, pool: 'rollout', startedAt: meta.startedAt } as const;
  rollout.write({ event: 'attempt-started', ...sync });
  rollout.write({ event: 'attempt-ended', ...sync, endedAt: meta.finishedAt!, error: null });
  await rollout.flush();
  await mkdir(path.join(home, '.rekindle'));
  const at = meta.finishedAt;
  await writeFile(
    path.join(home, '.rekindle', 'supervisor.jsonl'),
    [
      { at, name: 'temporal', event: 'exited', pid: 1, code: null, signal: 'SIGKILL' },
      { at, name: 'temporal', event: 'restarting', afterMs: 200, restarts: 1 },
    ]
      .map((event) => JSON.stringify(event))
      .join('\n'),
  );
  const showToken = (id: number): string => String.fromCharCode(id);
  const hostile = { ...meta, reason: '<script>alert(1)</script>' };
  page = await readFile(await writeReport({ store, run, folder, meta: hostile, showToken }), 'utf8');
});

afterAll(() => rm(home, { recursive: true }));

describe('writeReport', () => {
  it('begins with the answer: status, accuracy before and after, wall time', () => {
    expect(page).toContain('38.1 %');
    expect(page).toContain('completed');
    expect(page).toMatch(/Wall time/);
  });

  it('draws only the curves that the run has values for', () => {
    for (const id of ['accuracy', 'reward', 'loss', 'entropy', 'clip', 'speed', 'warm-start']) {
      expect(page).toContain(`id="chart-${id}"`);
    }
    expect(page).not.toContain('id="chart-kl"');
  });

  it('escapes text of the run and of the policy', () => {
    expect(page).not.toContain('<script>alert(1)');
    expect(page).toContain('&lt;script&gt;alert(1)');
    expect(page).not.toMatch(/data-tip="“<”/);
  });

  it('tells each token with its probability and log-prob', () => {
    expect(page).toMatch(/data-tip="“5”\s+probability 0\.\d+\s+log-prob −\d/);
  });

  it('counts faults of the log and of the journals', () => {
    expect(page).toContain('refused update');
    expect(page).toMatch(/worker killed<\/th>\s*<td class="number">1</);
    expect(page).toMatch(/server away<\/th>\s*<td class="number">1</);
    expect(page).toContain('Repeated attempts: updateActor 1');
  });

  it('shows the time of steps that only the journals tell of, beside that of recorded results', () => {
    for (const phase of ['sync', 'rollout']) expect(page).toMatch(new RegExp(`</i>${phase} <b>`));
  });

  it('needs no network and stays small', async () => {
    expect(page).not.toMatch(/(src|href)="(?!data:)/);
    expect((await stat(path.join(folder, 'report.html'))).size).toBeLessThan(1_000_000);
    expect((await readdir(folder)).filter((name) => name.startsWith('.report'))).toEqual([]);
  });

  it.skipIf(chromium === undefined)(
    `draws every chart in a browser without an error${chromium ? '' : ' (skipped: no Chromium on the PATH)'}`,
    { timeout: 60_000 },
    async () => {
      const { stdout, stderr } = await promisify(execFile)(
        chromium!,
        [
          ...['--headless', '--no-sandbox', '--disable-gpu', '--enable-logging=stderr'],
          ...['--virtual-time-budget=5000', '--dump-dom', `file://${path.join(folder, 'report.html')}`],
        ],
        { maxBuffer: 64 * 2 ** 20 },
      );
      expect(stderr).not.toMatch(/CONSOLE/);
      const charts = page.match(/id="chart-/g)!.length;
      expect(stdout.match(/<canvas/g)).toHaveLength(charts);
    },
  );
});
