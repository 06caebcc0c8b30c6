import { join } from 'node:path';
import { build } from 'vite';

/** Bundles a TypeScript script with all that it imports into one file that plain `node` runs; returns its path. */
export async function bundleScript(entry: string, outFolder: string): Promise<string> {
  await build({
    configFile: false,
    logLevel: 'error',
    ssr: { noExternal: true },
    build: {
      ssr: entry,
      outDir: outFolder,
      emptyOutDir: false,
      rollupOptions: { output: { entryFileNames: 'script.mjs' } },
    },
  });
  return join(outFolder, 'script.mjs');
}
