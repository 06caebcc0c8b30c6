/**
 * Where Temporal is and what lets us in, by Temporal's own conventions: `TEMPORAL_*` environment variables over the profile
 * (`TEMPORAL_PROFILE`) of a configuration file (`TEMPORAL_CONFIG_FILE`). Clients and workers alike get it from here.
 */
import type { ConnectionOptions } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { RekindleError } from '../../core/errors.ts';

export interface TemporalProfile {
  /** `host:port`; undefined when neither environment nor file names one. */
  address: string | undefined;
  namespace: string | undefined;
  credentials: Pick<ConnectionOptions, 'tls' | 'metadata'> & { apiKey?: string };
}

/** Throws UsageError when the configuration file, or a certificate that it names, cannot be read. */
export function temporalProfile(env: NodeJS.ProcessEnv): TemporalProfile {
  try {
    const { connectionOptions, namespace } = loadClientConnectConfig({ overrideEnvVars: withoutGaps(env) });
    const { address, tls, metadata, apiKey } = connectionOptions;
    return {
      address,
      namespace,
      credentials: {
        ...(tls != null && { tls }),
        ...(metadata && { metadata }),
        ...(apiKey !== undefined && { apiKey }),
      },
    };
  } catch (error) {
    throw new RekindleError('UsageError', `Temporal's configuration: ${(error as Error).message}`, {
      hint: 'Look at TEMPORAL_CONFIG_FILE, TEMPORAL_PROFILE and TEMPORAL_TLS_*: https://docs.temporal.io/develop/environment-configuration',
      cause: error,
    });
  }
}

/**
 * How to connect to an address: with the credentials of the profile, except to another server on this machine than the
 * profile's own. So a development server is reached while the environment is set up for Temporal Cloud.
 */
export function connectionOptions(
  address: string,
  env: NodeJS.ProcessEnv,
): { address: string } & TemporalProfile['credentials'] {
  const profile = temporalProfile(env);
  const takesCredentials = address === profile.address || !isOnThisMachine(address);
  return { address, ...(takesCredentials && profile.credentials) };
}

function isOnThisMachine(address: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[::1\]):\d+$/i.test(address);
}

/** An empty variable counts as unset. */
function withoutGaps(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => !!entry[1]));
}
