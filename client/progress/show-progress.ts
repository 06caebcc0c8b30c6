/**
 * Shows a watched run until it ends or the reader presses Ctrl-C: a block that is drawn over on a terminal, lines elsewhere,
 * JSON lines with --json.
 */
import { createLogUpdate } from 'log-update';
import type { RunState } from '../../core/contracts.ts';
import type { RunHandle } from '../run-handle.ts';
import type { Io } from '../terminal/io.ts';
import type { Output } from '../terminal/output.ts';
import { advance, noProgress, type Progress } from './progress.ts';
import { renderBlock } from './render-block.ts';
import { renderChanges } from './render-lines.ts';

export interface ShowOptions {
  io: Io;
  output: Output;
  /** Web UI page of the run; null when unknown. */
  link: string | null;
}

/** Returns the final state, or null when the reader stopped watching. Throws the run's failure. */
export async function showProgress(
  run: RunHandle,
  { io, output, link }: ShowOptions,
): Promise<RunState | null> {
  const leave = new AbortController();
  const off = io.onInterrupt(() => leave.abort());
  const display =
    io.interactive && !output.json ? terminalDisplay(run.run, io, output, link) : lineDisplay(output);
  let progress = noProgress;
  try {
    for await (const event of run.watch({ signal: leave.signal })) {
      if (leave.signal.aborted) return null;
      if (output.json) output.result(event, '');
      const before = progress;
      progress = advance(progress, event);
      display.show(before, progress);
      if (event.kind === 'finished') return event.state;
    }
    return null;
  } finally {
    display.done();
    off();
  }
}

interface Display {
  show(before: Progress, after: Progress): void;
  done(): void;
}

function terminalDisplay(run: string, io: Io, { colors }: Output, link: string | null): Display {
  const update = createLogUpdate(io.stderr as NodeJS.WriteStream);
  const columns = (io.stderr as NodeJS.WriteStream).columns ?? 80;
  return {
    show: (_, after) => update(renderBlock(after, { run, colors, columns, link })),
    done: () => update.done(),
  };
}

function lineDisplay(output: Output): Display {
  return {
    show: (before, after) => renderChanges(before, after).forEach((line) => output.note(line)),
    done: () => undefined,
  };
}
