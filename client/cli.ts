#!/usr/bin/env node
/** The `rekindle` program. */
import { runCli } from './program.ts';
import { processIo } from './terminal/io.ts';

process.exitCode = await runCli(process.argv.slice(2), processIo());
