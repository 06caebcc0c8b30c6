/** Options that every command has, and what a command works with. */
import type { Command } from 'commander';
import { findClaim } from '../../deploy/home-claim.ts';
import { temporalProfile } from '../../deploy/temporal/connection-options.ts';
import { connect, type Rekindle } from '../rekindle.ts';
import { resolveSettings, type ClientSettings } from '../settings.ts';
import type { Io } from './io.ts';
import { Output } from './output.ts';

export interface CommonOptions {
  json?: boolean;
  verbose?: boolean;
  home?: string;
}

export interface ServerOptions extends CommonOptions {
  address?: string;
  namespace?: string;
}

export interface Context {
  io: Io;
  output: Output;
  settings: ClientSettings;
  /** The address that was asked for; undefined when the default holds. */
  givenAddress: string | undefined;
}

export function withCommonOptions(command: Command): Command {
  return command
    .option('--json', 'one JSON object (or JSON lines) on stdout, nothing else there')
    .option('--home <folder>', 'folder of runs/ and .rekindle/ (REKINDLE_HOME, or the current folder)')
    .option('--verbose', 'show the stack of an error');
}

export function withServerOptions(command: Command): Command {
  return withCommonOptions(command)
    .option('--address <host:port>', 'Temporal server (TEMPORAL_ADDRESS, or that of the Temporal profile)')
    .option('--namespace <name>', 'Temporal namespace (TEMPORAL_NAMESPACE, or default)');
}

/** The stack that runs in the home says where its server is, unless an address is given. */
export function contextOf(io: Io, options: ServerOptions): Context {
  const { home } = resolveSettings(options, io.env);
  const givenAddress = options.address ?? temporalProfile(io.env).address;
  const address = givenAddress ?? findClaim(home)?.address ?? undefined;
  return {
    io,
    output: new Output(io, options.json ?? false),
    settings: resolveSettings({ ...options, ...(address !== undefined && { address }) }, io.env),
    givenAddress,
  };
}

/** Runs a function with a connection that is closed afterwards. */
export async function withConnection<T>(
  { settings }: Context,
  use: (rekindle: Rekindle) => Promise<T>,
): Promise<T> {
  const rekindle = await connect(settings);
  try {
    return await use(rekindle);
  } finally {
    await rekindle.close();
  }
}
