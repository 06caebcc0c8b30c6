/** Where a client finds things: Temporal, and the home folder with its runs and store. */
import path from 'node:path';

export interface ConnectOptions {
  /** Host and port of Temporal. TEMPORAL_ADDRESS, or 127.0.0.1:7233, when not given. */
  address?: string;
  /** TEMPORAL_NAMESPACE, or `default`, when not given. */
  namespace?: string;
  /** Folder that holds `runs/` and `.rekindle/`. REKINDLE_HOME, or the current folder, when not given. */
  home?: string;
}

export interface ClientSettings {
  address: string;
  namespace: string;
  home: string;
}

export function resolveSettings(options: ConnectOptions, env: NodeJS.ProcessEnv): ClientSettings {
  return {
    address: options.address ?? env['TEMPORAL_ADDRESS'] ?? '127.0.0.1:7233',
    namespace: options.namespace ?? env['TEMPORAL_NAMESPACE'] ?? 'default',
    home: path.resolve(options.home ?? env['REKINDLE_HOME'] ?? '.'),
  };
}
