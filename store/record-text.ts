/**
 * The text of a durable record: JSON that carries its own SHA-256, so that damage to any of its bytes is found when it is
 * read, and not only damage that breaks the syntax. Whatever is read back satisfies its schema.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { RekindleError } from '../core/errors.ts';
import { logEntrySchema, type LogEntry } from '../core/records.ts';
import type { Recorded } from './store.ts';

const sealedSchema = z.strictObject({ sha256: z.string(), record: z.unknown() });

const recordedSchema = z.strictObject({
  value: z.unknown(),
  provenance: z.strictObject({
    startedAt: z.string(),
    finishedAt: z.string(),
    attempt: z.number().int().positive(),
    worker: z.string(),
  }),
});

/** The text of a result. Throws StoreError when it holds what JSON cannot. */
export function writeRecorded(recorded: Recorded, where: string): string {
  return seal(validate(recordedSchema, recorded, where));
}

/** Throws StoreError naming `where` when the text is not an undamaged result. */
export function readRecorded(text: string, where: string): Recorded {
  const { value, provenance } = validate(recordedSchema, unseal(text, where), where);
  return { value, provenance };
}

/** The text of a log entry. Throws StoreError when it does not satisfy its schema. */
export function writeLogEntry(entry: LogEntry, where: string): string {
  return seal(validate(logEntrySchema, entry, where));
}

/** Throws StoreError naming `where` when the text is not the undamaged entry of this run and version. */
export function readLogEntry(text: string, run: string, version: number, where: string): LogEntry {
  const entry = validate(logEntrySchema, unseal(text, where), where);
  if (entry.run !== run || entry.version !== version) {
    throw broken(where, `expected version ${version} of run ${run}, found ${entry.version} of ${entry.run}`);
  }
  return entry;
}

function seal(record: unknown): string {
  return JSON.stringify({ sha256: digest(record), record }) + '\n';
}

function unseal(text: string, where: string): unknown {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    throw broken(where, 'not JSON', error);
  }
  const { sha256, record } = validate(sealedSchema, parsed, where);
  if (digest(record) !== sha256) throw broken(where, 'its content does not match its checksum');
  return record;
}

/** JSON text written by JSON.stringify is a fixed point of parsing and writing, so the digest needs no canonical form. */
function digest(record: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(record) ?? 'null')
    .digest('hex');
}

function validate<T>(schema: z.ZodType<T>, value: unknown, where: string): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw broken(where, z.prettifyError(result.error), result.error);
}

function broken(where: string, problem: string, cause?: unknown): RekindleError {
  return new RekindleError('StoreError', `${where}: broken record: ${problem}`, {
    hint: 'Restore this file from a copy; "rekindle verify <run>" lists everything that is damaged.',
    permanent: true,
    cause,
  });
}
