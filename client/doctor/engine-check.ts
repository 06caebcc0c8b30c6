/** The embedded engine, tried for real: its child process starts, loads a tiny policy and generates from it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { recipeSchema } from '../../core/recipe.ts';
import { EngineClient } from '../../gpu/embedded/engine-client.ts';
import { prepareModel } from '../../gpu/model/prepare-model.ts';
import { broken, ok, type Finding } from './check.ts';

const name = 'engine (onnxruntime)';
const tinyModel = recipeSchema.shape.model.parse({
  initialize: {
    ...{ hiddenSize: 32, layers: 1, heads: 2, kvHeads: 1, headSize: 16, feedForwardSize: 64 },
    ...{ maxPositions: 16, tokenizer: 'characters' },
  },
});

export async function checkEngine(): Promise<Finding> {
  const scratch = await mkdtemp(path.join(tmpdir(), 'rekindle-doctor-'));
  const model = await prepareModel({ model: tinyModel, seed: 1 });
  const engine = new EngineClient({ config: model.config, threads: 1, slots: 2 });
  try {
    const file = path.join(scratch, 'model.safetensors');
    const { hash } = await model.writeWeights(file);
    await engine.load({ tag: hash, path: file });
    let generated = 0;
    await engine.generate(
      {
        weights: hash,
        prompts: [{ ids: [49, 43, 49, 61], seeds: [[1, 2]] }],
        sampling: { temperature: 0, topK: 0, topP: 1, maxNewTokens: 4, stopIds: [] },
      },
      (completions) => (generated += completions.reduce((sum, { ids }) => sum + ids.length, 0)),
    );
    return ok(name, `a tiny policy generated ${generated} tokens`);
  } catch (error) {
    return broken(
      name,
      error instanceof Error ? error.message : String(error),
      'Install the packages again: npm ci.',
    );
  } finally {
    await engine.close();
    await rm(scratch, { recursive: true });
  }
}
