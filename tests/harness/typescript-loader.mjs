/** `node --import <this file>` runs the TypeScript sources as they stand: each is transpiled when it is loaded. */
import { readFile } from 'node:fs/promises';
import { register } from 'node:module';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';

// Hooks run in a thread of their own, which loads this file again.
if (isMainThread) register(import.meta.url);

export async function load(url, context, nextLoad) {
  if (!url.endsWith('.ts')) return nextLoad(url, context);
  const { default: typescript } = await import('typescript');
  const source = await readFile(fileURLToPath(url), 'utf8');
  const options = {
    module: typescript.ModuleKind.ESNext,
    target: typescript.ScriptTarget.ES2022,
    inlineSourceMap: true,
  };
  const { outputText } = typescript.transpileModule(source, {
    fileName: fileURLToPath(url),
    compilerOptions: options,
  });
  return { format: 'module', source: outputText, shortCircuit: true };
}
