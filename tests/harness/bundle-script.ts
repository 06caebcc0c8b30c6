import { createRequire } from 'node:module';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, type Plugin } from 'vite';
import { packageRoot } from '../../activities/recipe/package-root.ts';

/** Bundles a TypeScript script with all that it imports into one file that plain `node` runs; returns its path. */
export async function bundleScript(
  entry: string,
  outFolder: string,
  plugins: Plugin[] = [],
): Promise<string> {
  await build({
    configFile: false,
    logLevel: 'error',
    plugins,
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

/** Bundles a script of tests alone: what it imports of the product comes from `dist/`, packages from where they are. */
export function bundleTestProgram(entry: string, outFolder: string): Promise<string> {
  return bundleScript(entry, outFolder, [productFromDist]);
}

const require = createRequire(import.meta.url);

const productFromDist: Plugin = {
  name: 'product-from-dist',
  enforce: 'pre',
  resolveId(source, importer) {
    if (importer === undefined) return null;
    if (source.startsWith('node:')) return { id: source, external: true };
    if (!source.startsWith('.')) return { id: pathToFileURL(require.resolve(source)).href, external: true };
    const file = relative(packageRoot, resolve(dirname(importer), source));
    if (file.startsWith(`tests${sep}`)) return null;
    const built = join(packageRoot, 'dist', file.replace(/\.ts$/, '.js'));
    return { id: pathToFileURL(built).href, external: true };
  },
};
