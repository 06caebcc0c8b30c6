/**
 * Episodes as workflows, on a real server, with an engine that answers at once: how long their histories are, and that they go on
 * elsewhere, with the same trajectories, when the host that holds their environments is gone for good.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { packageRoot } from '../../activities/recipe/package-root.ts';
import { hostQueue, taskQueues, workflowIds } from '../../core/ids.ts';
import type { RecipeInput } from '../../core/recipe.ts';
import { trajectorySchema, type Trajectory } from '../../core/records.ts';
import { getJsonl } from '../../store/jsonl.ts';
import { committedEntries } from '../../store/run-history.ts';
import { verifyRun } from '../../store/verify.ts';
import { bundleTestProgram } from '../harness/bundle-script.ts';
import { startStack, type TestStack } from '../harness/stack.ts';

const turns = 5;
const hosts = ['left', 'right'] as const;
type Host = (typeof hosts)[number];

/** The type of a timeout, a number of Temporal's protocol. */
const scheduleToStart = 2;

let scratch: string;
let stack: TestStack;
let connection: Connection;
const envWorkers = new Map<Host, ChildProcess>();

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'rekindle-test-'));
  const worker = fileURLToPath(new URL('../harness/instant-worker.ts', import.meta.url));
  stack = await startStack(
    [
      ['control', 'cpu'],
      ['rollout', 'train'],
    ],
    [await bundleTestProgram(worker, scratch)],
  );
  connection = await Connection.connect({ address: stack.address });
  for (const host of hosts) envWorkers.set(host, startEnvWorker(host));
  await writeFile(join(scratch, 'counter.mjs'), counter);
}, 60_000);

afterAll(async () => {
  for (const worker of envWorkers.values()) worker.kill('SIGKILL');
  await connection.close();
  await stack.stop();
  await rm(scratch, { recursive: true });
});

function startEnvWorker(host: Host): ChildProcess {
  const main = join(packageRoot, 'dist', 'workers', 'main.js');
  const settings = ['--address', stack.address, '--home', stack.home, '--host', host];
  return spawn(process.execPath, [main, '--pools', 'env', ...settings], { stdio: 'ignore' });
}

/** An environment that takes its time, counts what it is told, and ends by itself. */
const counter = `
import { createInterface } from 'node:readline';
let told = 0;
let letters = 0;
for await (const line of createInterface({ input: process.stdin })) {
  const { type, response } = JSON.parse(line);
  if (type === 'step') {
    await new Promise((resolve) => setTimeout(resolve, 300));
    told += 1;
    letters += response.length;
  }
  const over = type === 'end' || told === ${turns};
  console.log(JSON.stringify(over ? { rewards: { letters }, done: true } : { observation: String(letters) + ':' }));
}
`;

type Environment = NonNullable<RecipeInput['environment']>;
const attempts: Environment = { kind: 'attempts', attempts: turns, feedback: '?' };
const program = (): Environment => ({
  kind: 'command',
  command: ['node', join(scratch, 'counter.mjs')],
  maxTurns: turns + 1,
});

function recipe(environment: Environment, rollout: Partial<RecipeInput['rollout']>): RecipeInput {
  const size = { hiddenSize: 16, layers: 1, heads: 1, kvHeads: 1, headSize: 16, feedForwardSize: 16 };
  return {
    name: 'turn-mode',
    model: { initialize: { ...size, maxPositions: 128, tokenizer: 'characters' } },
    data: { train: { source: 'addition', digits: 2 } },
    environment,
    rewards: [
      environment.kind === 'command' ? { kind: 'environment', name: 'letters' } : { kind: 'exact-match' },
    ],
    rollout: { tasksPerIteration: 6, groupSize: 4, maxNewTokens: 8, ...rollout },
    algorithm: { dropZeroVarianceGroups: false },
    training: { iterations: 1, minibatchRows: 24, optimizer: { learningRate: 1e-4 } },
    schedule: { heartbeatSeconds: 2, hostSeconds: 1 },
  };
}

async function start(run: string, ...what: Parameters<typeof recipe>) {
  return stack.rekindle.train(recipe(...what), { run });
}

async function trajectoriesOf(run: string): Promise<Trajectory[]> {
  const refs = (await committedEntries(stack.store, run)).flatMap(({ trajectories }) => trajectories);
  const found = (await Promise.all(refs.map((ref) => getJsonl(stack.store, ref, trajectorySchema)))).flat();
  return found.sort((a, b) => a.group - b.group || a.sample - b.sample);
}

async function eventsOf(workflowId: string) {
  const { events } = await new Client({ connection }).workflow.getHandle(workflowId).fetchHistory();
  return events ?? [];
}

/** The host of the first episode, once it has answered its first turn. */
async function hostInMidEpisode(run: string): Promise<Host> {
  for (;;) {
    const events = await eventsOf(workflowIds.episode(run, 1, 0, 0)).catch(() => []);
    const results = events.flatMap(({ activityTaskCompletedEventAttributes: completed }) =>
      completed ? [decode(completed.result?.payloads?.[0]?.data)] : [],
    );
    if (results.length >= 3) return hosts.find((host) => results[2]!.queue === hostQueue('env', host))!;
    await delay(20);
  }
}

function decode(data: Uint8Array | null | undefined): { queue?: string } {
  return JSON.parse(Buffer.from(data ?? []).toString()) as { queue?: string };
}

/** Activities that no worker of this queue took in time, each with the queue that its episode asked next. */
async function waitsInVain(run: string, queue: string): Promise<{ next: string | null | undefined }[]> {
  const episodes = Array.from({ length: 24 }, (_, i) =>
    workflowIds.episode(run, 1, Math.floor(i / 4), i % 4),
  );
  const histories = await Promise.all(episodes.map(eventsOf));
  return histories.flatMap((events) =>
    events.flatMap(({ activityTaskTimedOutEventAttributes: timedOut }, i) => {
      if (!timedOut || Number(timedOut.failure?.timeoutFailureInfo?.timeoutType) !== scheduleToStart)
        return [];
      const asked = events[Number(timedOut.scheduledEventId) - 1]!.activityTaskScheduledEventAttributes;
      const next = events.slice(i).find((event) => event.activityTaskScheduledEventAttributes);
      return asked?.taskQueue?.name === queue
        ? [{ next: next?.activityTaskScheduledEventAttributes?.taskQueue?.name }]
        : [];
    }),
  );
}

test('histories: 65 events for an episode of five turns, at most nine for each child of a parent', async () => {
  const groups = { durability: 'turn', tasksPerShard: 2 } as const;
  await (await start('histories', attempts, groups)).result();
  const [episodesOfShard, shards] = [2 * 4, 3];
  expect(await trajectoriesOf('histories')).toHaveLength(episodesOfShard * shards);

  // Its start and end, and three events for each of ten activities and for each of eleven steps.
  const episode = await eventsOf(workflowIds.episode('histories', 1, 0, 0));
  expect(episode.length).toBe(2 + 3 * 2 * turns + 3 * (2 * turns + 1));
  // A child is begun, has started and has ended; at most each of the last two takes a step of its parent.
  const group = await eventsOf(workflowIds.rolloutGroup('histories', 1, 0));
  expect(group.length).toBeLessThanOrEqual(12 + 9 * episodesOfShard);
  const iteration = await eventsOf(workflowIds.iteration('histories', 1));
  expect(iteration.length).toBeLessThanOrEqual(50 + 9 * shards);
}, 60_000);

test('a host that holds environments is lost for good: its episodes wait for it in vain, move, and end as they would have', async () => {
  const alone = await start('alone', program(), { durability: 'shard' });
  await alone.result();

  const run = await start('moved', program(), { durability: 'turn' });
  const lost = await hostInMidEpisode('moved');
  const ended = new Promise((resolve) => envWorkers.get(lost)!.once('exit', (_, signal) => resolve(signal)));
  envWorkers.get(lost)!.kill('SIGKILL');
  expect(await ended).toBe('SIGKILL');
  await run.result();

  const inVain = await waitsInVain('moved', hostQueue('env', lost));
  expect(inVain.length).toBeGreaterThan(0);
  for (const { next } of inVain) expect(next).toBe(taskQueues.env);
  expect(await trajectoriesOf('moved')).toEqual(await trajectoriesOf('alone'));
  expect((await trajectoriesOf('moved')).every((trajectory) => trajectory.turns.length === turns)).toBe(true);
  expect(await verifyRun(stack.store, 'moved')).toMatchObject({ ok: true, problems: [] });
}, 90_000);
