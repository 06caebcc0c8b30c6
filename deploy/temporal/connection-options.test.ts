import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TLSConfig } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RekindleError } from '../../core/errors.ts';
import { connectionOptions, temporalProfile } from './connection-options.ts';

let folder: string;
let env: Record<string, string>;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'rekindle-profile-'));
  const file = path.join(folder, 'temporal.toml');
  await writeFile(path.join(folder, 'client.pem'), 'certificate');
  await writeFile(path.join(folder, 'client.key'), 'key');
  await writeFile(
    file,
    `[profile.default]
address = "training.a1b2c.tmprl.cloud:7233"
namespace = "training.a1b2c"
api_key = "secret"

[profile.onsite]
address = "127.0.0.1:7000"
tls = { client_cert_path = "${folder}/client.pem", client_key_path = "${folder}/client.key" }

[profile.broken]
tls = { client_cert_path = "${folder}/absent.pem", client_key_path = "${folder}/client.key" }
`,
  );
  env = { TEMPORAL_CONFIG_FILE: file };
});
afterAll(() => rm(folder, { recursive: true }));

describe('the profile', () => {
  it('has address, namespace and API key of the file, with TLS on', () => {
    expect(temporalProfile(env)).toEqual({
      address: 'training.a1b2c.tmprl.cloud:7233',
      namespace: 'training.a1b2c',
      credentials: { apiKey: 'secret', tls: true },
    });
  });

  it('gives way to the environment, where an empty variable counts as unset', () => {
    const changed = {
      ...env,
      TEMPORAL_ADDRESS: 'other:7233',
      TEMPORAL_API_KEY: 'newer',
      TEMPORAL_NAMESPACE: '',
    };
    expect(temporalProfile(changed)).toMatchObject({
      address: 'other:7233',
      namespace: 'training.a1b2c',
      credentials: { apiKey: 'newer' },
    });
  });

  it('is empty where nothing is set up', () => {
    const nothing = { TEMPORAL_CONFIG_FILE: path.join(folder, 'absent.toml') };
    expect(temporalProfile(nothing)).toEqual({ address: undefined, namespace: undefined, credentials: {} });
  });

  it.each([
    ['a profile that does not exist', { TEMPORAL_PROFILE: 'nope' }, /nope/],
    ['a certificate that does not exist', { TEMPORAL_PROFILE: 'broken' }, /absent\.pem/],
  ])('is refused for %s', (_, change, message) => {
    expect(() => temporalProfile({ ...env, ...change })).toThrow(RekindleError);
    expect(() => temporalProfile({ ...env, ...change })).toThrow(message);
  });
});

describe('connection options', () => {
  it('have the credentials of the profile for its address and for any given one', () => {
    for (const address of ['training.a1b2c.tmprl.cloud:7233', 'temporal.example.com:7233']) {
      expect(connectionOptions(address, env)).toEqual({ address, apiKey: 'secret', tls: true });
    }
  });

  it('have none for a server on this machine, unless it is the one of the profile', () => {
    expect(connectionOptions('127.0.0.1:7233', env)).toEqual({ address: '127.0.0.1:7233' });
    const { tls } = connectionOptions('127.0.0.1:7000', { ...env, TEMPORAL_PROFILE: 'onsite' });
    const { crt, key } = (tls as TLSConfig).clientCertPair!;
    expect([crt, key].map((bytes) => Buffer.from(bytes).toString())).toEqual(['certificate', 'key']);
  });
});
