/** Where a client finds things: Temporal, and the home folder with its runs and store. */
import path from 'node:path';
import { temporalProfile } from '../deploy/temporal/connection-options.ts';

export interface ConnectOptions {
  /** Host and port of Temporal. That of Temporal's profile or TEMPORAL_ADDRESS, or 127.0.0.1:7233, when not given. */
  address?: string;
  /** That of Temporal's profile or TEMPORAL_NAMESPACE, or `default`, when not given. */
  namespace?: string;
  /** Folder that holds `runs/` and `.rekindle/`. REKINDLE_HOME, or the current folder, when not given. */
  home?: string;
}

export interface ClientSettings {
  address: string;
  namespace: string;
  home: string;
}

/** Throws UsageError when Temporal's configuration file cannot be read. */
export function resolveSettings(options: ConnectOptions, env: NodeJS.ProcessEnv): ClientSettings {
  const profile = temporalProfile(env);
  return {
    address: options.address ?? profile.address ?? '127.0.0.1:7233',
    namespace: options.namespace ?? profile.namespace ?? 'default',
    home: path.resolve(options.home ?? env['REKINDLE_HOME'] ?? '.'),
  };
}
