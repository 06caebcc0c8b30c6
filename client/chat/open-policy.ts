/** A policy to talk to: a version of a run in this home, or a Hugging Face model folder. */
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openedRun } from '../../activities/run/opening.ts';
import { weightsSource } from '../../activities/weights/weights-source.ts';
import { EngineClient } from '../../gpu/embedded/engine-client.ts';
import type { Engine, WeightsSource } from '../../gpu/engine-port.ts';
import type { DecoderConfig } from '../../gpu/model/decoder-config.ts';
import { prepareModel } from '../../gpu/model/prepare-model.ts';
import { loadTokenizer, type ChatMessage, type Tokenizer } from '../../gpu/tokenizer/index.ts';
import { policyVersion, requireLog } from '../local-runs.ts';

export interface Policy {
  name: string;
  config: DecoderConfig;
  tokenizer: Tokenizer;
  engine: Engine;
  weights: string;
  /** Messages before the first of the user; null when prompts go to the policy as they are. */
  opening: ChatMessage[] | null;
  close(): Promise<void>;
}

/** Throws RunNotFoundError or ModelError. */
export async function openPolicy(home: string, target: string, version: number | undefined): Promise<Policy> {
  const found = await stat(target).catch(() => undefined);
  return found?.isDirectory() ? openFolder(path.resolve(target)) : openRun(home, target, version);
}

async function openRun(home: string, run: string, version: number | undefined): Promise<Policy> {
  const store = await requireLog(home, run);
  const entry = await policyVersion(store, run, version);
  const opened = await openedRun(store, run);
  const { config, tokenizer, recipe } = opened;
  const weights = await weightsSource(store, opened, entry.weights);
  const { template, system } = recipe.prompt;
  return {
    name: `policy version ${entry.version} of ${run}`,
    config,
    tokenizer,
    opening: template === 'raw' ? null : system === undefined ? [] : [{ role: 'system', content: system }],
    ...(await startEngine(config, weights)),
  };
}

async function openFolder(folder: string): Promise<Policy> {
  const model = await prepareModel({ model: { path: folder }, seed: 0 });
  const tokenizer = loadTokenizer(model.files);
  const scratch = await mkdtemp(path.join(tmpdir(), 'rekindle-'));
  try {
    const file = path.join(scratch, 'model.safetensors');
    const { hash } = await model.writeWeights(file);
    const engine = await startEngine(model.config, { tag: hash, path: file });
    return {
      name: folder,
      config: model.config,
      tokenizer,
      opening: tokenizer.hasChatTemplate ? [] : null,
      ...engine,
    };
  } finally {
    await rm(scratch, { recursive: true });
  }
}

async function startEngine(
  config: DecoderConfig,
  weights: WeightsSource,
): Promise<Pick<Policy, 'engine' | 'weights' | 'close'>> {
  const engine = new EngineClient({ config, threads: 2, slots: 2 });
  await engine.load(weights);
  return { engine, weights: weights.tag, close: () => engine.close() };
}
