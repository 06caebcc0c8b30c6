/** How the hub is reached, from the environment variables that its other clients read. */
import { homedir } from 'node:os';
import { join } from 'node:path';

export interface HubSettings {
  endpoint: string;
  token: string | undefined;
  /** Folder of the cache that is shared with the Python client. */
  cache: string;
  /** No request is made: what is not in the cache cannot be had. */
  offline: boolean;
}

/** Reads HF_ENDPOINT, HF_TOKEN, HF_HUB_CACHE, HF_HOME, XDG_CACHE_HOME and HF_HUB_OFFLINE. */
export function hubSettings(env: NodeJS.ProcessEnv = process.env): HubSettings {
  const home = env['HF_HOME'] ?? join(env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'huggingface');
  return {
    endpoint: (env['HF_ENDPOINT'] ?? 'https://huggingface.co').replace(/\/+$/, ''),
    token: env['HF_TOKEN']?.trim() || undefined,
    cache: env['HF_HUB_CACHE'] ?? join(home, 'hub'),
    offline: isSet(env['HF_HUB_OFFLINE']),
  };
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && !['', '0', 'false', 'no', 'off'].includes(value.toLowerCase());
}
