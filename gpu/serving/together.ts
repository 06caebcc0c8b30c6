/** The prompts of one request stand or fall together: what nobody will read is not generated. */

/**
 * Does all parts at once. When one fails, the signal of the others is aborted.
 * @throws the first failure, once every part is over.
 */
export async function together<Part, Result>(
  parts: readonly Part[],
  signal: AbortSignal,
  work: (part: Part, signal: AbortSignal) => Promise<Result>,
): Promise<Result[]> {
  const failed = new AbortController();
  const ended = AbortSignal.any([signal, failed.signal]);
  const results = parts.map((part) => work(part, ended));
  try {
    return await Promise.all(results);
  } catch (error) {
    failed.abort();
    await Promise.allSettled(results);
    throw error;
  }
}
