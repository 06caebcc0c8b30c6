/**
 * The Python environment of the peers: a virtual environment of its own with exactly the packages of requirements.txt. It is made once
 * and kept in REKINDLE_PEERS_VENV, by default a folder in the system's temporary folder.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const requirements = fileURLToPath(new URL('./requirements.txt', import.meta.url));

/** Makes the environment unless it is there. @returns the path of its Python. */
export function peerPython(onProgress: (line: string) => void): string {
  const folder = process.env['REKINDLE_PEERS_VENV'] ?? join(tmpdir(), 'rekindle-peers-venv');
  const python = join(folder, 'bin', 'python');
  const installed = join(folder, 'installed-requirements.txt');
  const wanted = readFileSync(requirements, 'utf8');
  if (contentOf(installed) === wanted) return python;
  onProgress(`installing PyTorch, transformers and TRL into ${folder} (several GB)`);
  // What pip prints must not mix with the figures.
  const stdio: ['ignore', 2, 2] = ['ignore', 2, 2];
  execFileSync('python3', ['-m', 'venv', folder], { stdio });
  execFileSync(python, ['-m', 'pip', 'install', '--quiet', '-r', requirements], { stdio });
  writeFileSync(installed, wanted);
  return python;
}

function contentOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
