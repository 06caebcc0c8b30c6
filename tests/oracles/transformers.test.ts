/** Exported folders against transformers: transformers-golden.json holds what it computed (see transformers_golden.py). */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EmbeddedEngine } from '../../gpu/embedded/engine.ts';
import { exportModel } from '../../gpu/model/export.ts';
import { prepareModel } from '../../gpu/model/prepare-model.ts';
import { readSafetensors } from '../../gpu/model/safetensors.ts';
import { openWeightFiles } from '../../gpu/model/weight-files.ts';
import { loadTokenizer, type ChatMessage } from '../../gpu/tokenizer/index.ts';
import { writeTinyModel } from '../fixtures/tiny-model.ts';
import { logSoftmax, referenceForward } from './reference-forward.ts';

interface ModelGolden {
  dtype: string;
  fileOfSameTensors: string;
  logprobs: number[];
  lastLogits: number[];
  greedy: number[];
  stopIds: number[];
  encoded: number[][];
  decoded: string[];
  rendered: string[];
}
interface Request {
  ids: number[];
  texts: string[];
  conversations: ChatMessage[][];
}

const goldenPath = fileURLToPath(new URL('transformers-golden.json', import.meta.url));
const script = fileURLToPath(new URL('transformers_golden.py', import.meta.url));

const conversation: ChatMessage[] = [
  { role: 'system', content: 'Answer briefly.' },
  { role: 'user', content: '  What is 12 + 12?\n' },
];
const requests: Record<string, Request> = {
  characters: {
    ids: [...'123+456=579\n98+7='].map((character) => character.charCodeAt(0)),
    texts: ['123+456=579\n', ' a  b\t\n\n', 'caf\u00e9 \u{1f600}', '\u0000~\u007f', 'don\'t " \\ stop'],
    conversations: [],
  },
  'byte-level': {
    ids: [...'the thing is in the other'].map((character) => character.charCodeAt(0)),
    texts: [
      'the thing, then 12 others 123 in a theatre',
      "don't we'll  I'M   spaced\t\tout \n\n lines\r\n",
      'caf\u00e9 e\u0301 \u{1f600}\u{1f469}\u200d\u{1f52c} \u65e5\u672c\u8a9e \u0645\u0631\u062d\u0628\u0627 \u00a0\ufeff',
      '<|turn|>user the<|end|> <|end <|padding|>the',
      '\u0000\u0001 x = {"a": [1, 2]}; // \\n',
      '',
    ],
    conversations: [conversation, [...conversation, { role: 'assistant', content: '24' }]],
  },
};

let root: string;
let golden: {
  models: Record<string, ModelGolden>;
  mixedPrecision: { base64: string; tensors: Record<string, { shape: number[]; hex: string }> };
};

/** A characters model that is new, and a byte-level one that went through a folder; both small enough for a golden file. */
async function exportFolders(): Promise<void> {
  const source = join(root, 'source');
  await writeTinyModel(source, 7);
  const sizes = {
    family: 'llama' as const,
    hiddenSize: 16,
    layers: 2,
    heads: 4,
    kvHeads: 2,
    headSize: 16,
    feedForwardSize: 24,
  };
  const settings = { ropeTheta: 500, normEpsilon: 1e-3, embeddingStd: 0.5, maxPositions: 64, tiedHead: true };
  const models = {
    characters: { initialize: { ...sizes, ...settings, tokenizer: 'characters' as const } },
    'byte-level': { path: source },
  };
  for (const [name, model] of Object.entries(models)) {
    const prepared = await prepareModel({ seed: 3, model });
    const weightsPath = join(root, `${name}.safetensors`);
    await prepared.writeWeights(weightsPath);
    await exportModel({
      folder: join(root, name),
      files: prepared.files,
      openWeights: () => openWeightFiles(weightsPath),
    });
  }
}

async function renewGolden(python: string): Promise<void> {
  const input = Object.fromEntries(
    Object.entries(requests).map(([name, request]) => [join(root, name), request]),
  );
  const running = promisify(execFile)(python, [script], { maxBuffer: 1 << 26 });
  running.child.stdin!.end(JSON.stringify(input));
  const { stdout } = await running;
  await writeFile(goldenPath, stdout);
}

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'rekindle-oracle-'));
  await exportFolders();
  const python = process.env['REKINDLE_ORACLE_PYTHON'];
  if (python !== undefined) await renewGolden(python);
  golden = JSON.parse(await readFile(goldenPath, 'utf8')) as typeof golden;
}, 180_000);
afterAll(() => rm(root, { recursive: true }));

describe.each(Object.keys(requests))('the exported %s model in transformers', (name) => {
  const request = requests[name]!;
  const folder = () => join(root, name);

  it('computes the log-probs, logits and greedy continuation of the float64 forward pass', async () => {
    const expected = golden.models[name]!;
    const { config } = await prepareModel({ seed: 0, model: { path: folder() } });
    const { tensors } = await readSafetensors(join(folder(), 'model.safetensors'));
    const logits = referenceForward(config, tensors, request.ids);
    request.ids.slice(1).forEach((id, position) => {
      expect(logSoftmax(logits[position]!)[id]).toBeCloseTo(expected.logprobs[position]!, 5);
    });
    logits.at(-1)!.forEach((logit, id) => expect(logit).toBeCloseTo(expected.lastLogits[id]!, 5));

    const ids = [...request.ids];
    const stops = new Set(expected.stopIds);
    for (const [step, next] of expected.greedy.entries()) {
      const last = referenceForward(config, tensors, ids).at(-1)!;
      expect(last.indexOf(Math.max(...last)), `step ${step}`).toBe(next);
      ids.push(next);
    }
    expect(expected.greedy.length === 8 || stops.has(ids.at(-1)!)).toBe(true);
  });

  it('has the log-probs that the embedded engine scores', async () => {
    const { config } = await prepareModel({ seed: 0, model: { path: folder() } });
    const engine = new EmbeddedEngine({ config, threads: 1, slots: 2 });
    await engine.load({ tag: name, path: join(folder(), 'model.safetensors') });
    const row = {
      ids: Int32Array.from(request.ids),
      rowLengths: Int32Array.of(request.ids.length),
      trained: Uint8Array.from(request.ids, (_, position) => (position === 0 ? 0 : 1)),
    };
    const logprobs = await engine.score(name, row, 1);
    await engine.close();
    golden.models[name]!.logprobs.forEach((expected, position) => {
      // Float32 arithmetic on numbers up to about 10.
      expect(logprobs[position + 1]).toBeCloseTo(expected, 4);
    });
  });

  it('has float32 weights, in the very bytes that the safetensors package writes', async () => {
    const bytes = await readFile(join(folder(), 'model.safetensors'));
    expect(golden.models[name]!.dtype).toBe('torch.float32');
    expect(`sha256:${createHash('sha256').update(bytes).digest('hex')}`).toBe(
      golden.models[name]!.fileOfSameTensors,
    );
  });

  it('has the same tokens, texts, stop tokens and chat prompts', async () => {
    const expected = golden.models[name]!;
    const tokenizer = loadTokenizer((await prepareModel({ seed: 0, model: { path: folder() } })).files);
    expect(request.texts.map((text) => tokenizer.encode(text))).toEqual(expected.encoded);
    expect(expected.encoded.map((ids) => tokenizer.decode(ids))).toEqual(expected.decoded);
    expect(tokenizer.stopIds).toEqual(expected.stopIds);
    const rendered = request.conversations.flatMap((messages) =>
      [true, false].map((addGenerationPrompt) =>
        tokenizer.applyChatTemplate(messages, { addGenerationPrompt }),
      ),
    );
    expect(rendered).toEqual(expected.rendered);
  });
});

it('reads F32, F16 and BF16 tensors from a file of the safetensors package', async () => {
  const { base64, tensors: expected } = golden.mixedPrecision;
  const path = join(root, 'mixed.safetensors');
  await writeFile(path, Buffer.from(base64, 'base64'));
  const { tensors, metadata } = await readSafetensors(path);
  const read = Array.from(tensors, ([name, { shape, data }]) => [
    name,
    { shape, hex: Buffer.from(data.buffer).toString('hex') },
  ]);
  expect(Object.fromEntries(read)).toEqual(expected);
  expect(metadata).toEqual({ 'made by': 'safetensors' });
});
