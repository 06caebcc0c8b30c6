/**
 * The promise of the product: whatever process is killed, at whatever moment, the run ends with the very weights of a run that
 * was left alone, and its log has every version once.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { setTimeout as delay } from 'node:timers/promises';
import { seedAt, uniformAt } from '../../core/seeds.ts';
import { committedEntries } from '../../store/run-history.ts';
import { verifyRun } from '../../store/verify.ts';
import { startStack, type TestStack, type Victim, type Witness } from '../harness/stack.ts';

const victims: Victim[] = ['control', 'cpu', 'env', 'rollout', 'train', 'engine', 'temporal'];

describe('a run of the smoke recipe', () => {
  let stack: TestStack;
  let undisturbed: string | null;

  beforeAll(async () => {
    stack = await startStack();
    const state = await (await stack.rekindle.train('smoke', { run: 'undisturbed' })).result();
    undisturbed = state.weights;
  });
  afterAll(() => stack.stop());

  test('left alone ends with an audit that finds nothing missing, skipped or done twice', async () => {
    expect(await verifyRun(stack.store, 'undisturbed')).toMatchObject({
      ok: true,
      tasks: { skipped: 0, duplicated: 0 },
      doubleSteps: 0,
      artifacts: { missing: 0, corrupt: 0 },
    });
  });

  test.each(victims)('survives a SIGKILL of %s at random moments with the same weights', async (victim) => {
    const { weights, witnesses } = await runWhileKilling(stack, `kill-${victim}`, [victim], 2);
    expect(witnesses.map(({ signal }) => signal)).toEqual(['SIGKILL', 'SIGKILL']);
    expect(weights).toBe(undisturbed);
    expect(await verifyRun(stack.store, `kill-${victim}`)).toMatchObject({ ok: true, doubleSteps: 0 });
  });

  test('survives the death of everything in turn', async () => {
    const { weights, witnesses } = await runWhileKilling(stack, 'kill-everything', victims, victims.length);
    expect(new Set(witnesses.map(({ victim }) => victim))).toEqual(new Set(victims));
    expect(weights).toBe(undisturbed);
    expect(await verifyRun(stack.store, 'kill-everything')).toMatchObject({ ok: true, doubleSteps: 0 });
  });

  test('in turn durability, with every episode a workflow, ends with the same weights', async () => {
    const overrides = ['rollout.durability=turn', 'training.iterations=2'];
    const run = await stack.rekindle.train('smoke', { run: 'by-turn', set: overrides });
    while ((await run.status()).iteration < 1) await delay(50);
    const witnesses = [await stack.kill('env'), await stack.kill('rollout')];
    expect(witnesses.map((witness) => witness?.signal)).toEqual(['SIGKILL', 'SIGKILL']);
    const { weights } = await run.result();
    const byShards = (await committedEntries(stack.store, 'undisturbed')).find(
      (entry) => entry.kind === 'reinforcement' && entry.iteration === 2,
    );
    expect(weights).toBe(byShards?.weights.hash);
  });

  test('that trains an adapter with a KL term survives the death of trainer and engine with the same adapter', async () => {
    const set = [
      'adapter={rank: 4, alpha: 8}',
      'algorithm.kl={coefficient: 0.01}',
      'training.checkpointing=true',
      'training.iterations=3',
    ];
    const alone = await (await stack.rekindle.train('smoke', { run: 'adapter-alone', set })).result();
    const run = await stack.rekindle.train('smoke', { run: 'adapter-killed', set });
    const witnesses: (Witness | undefined)[] = [];
    for (const [i, victim] of (['train', 'engine'] as const).entries()) {
      while ((await run.status()).iteration < i + 1) await delay(50);
      witnesses.push(await stack.kill(victim));
    }
    expect(witnesses.map((witness) => witness?.signal)).toEqual(['SIGKILL', 'SIGKILL']);
    expect((await run.result()).weights).toBe(alone.weights);
    expect(await verifyRun(stack.store, 'adapter-killed')).toMatchObject({ ok: true, doubleSteps: 0 });
  });
}, 180_000);

/** Starts a run and kills the victims one after another at moments that depend on the run's name only. */
async function runWhileKilling(
  stack: TestStack,
  name: string,
  order: Victim[],
  kills: number,
): Promise<{ weights: string | null; witnesses: Witness[] }> {
  const run = await stack.rekindle.train('smoke', { run: name });
  const moments = seedAt(
    [...name].reduce((sum, char) => Math.imul(sum, 31) + char.charCodeAt(0), 7),
    'chat',
  );
  const witnesses: Witness[] = [];
  while (witnesses.length < kills) {
    await delay(300 + 1500 * uniformAt(moments, witnesses.length));
    const witness = await stack.kill(order[witnesses.length % order.length]!);
    if (witness !== undefined) witnesses.push(witness);
  }
  return { weights: (await run.result()).weights, witnesses };
}
