/**
 * Shows a watched run until it ends or the reader presses Ctrl-C: a block that is drawn over on a terminal, lines elsewhere,
 * JSON lines with --json.
 */
import { createLogUpdate } from 'log-update';
import type { RunState } from '../../core/contracts.ts';
import type { SupervisorEvent } from '../../deploy/supervisor.ts';
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
  /** Calls the listener when a process of our stack starts or dies. */
  notices?: (listener: (event: SupervisorEvent) => void) => () => void;
}

/** Returns the final state, or null when the reader stopped watching. Throws the run's failure. */
export async function showProgress(run: RunHandle, options: ShowOptions): Promise<RunState | null> {
  const { io, output, link } = options;
  const leave = new AbortController();
  const left = new Promise<'left'>((resolve) =>
    leave.signal.addEventListener('abort', () => resolve('left')),
  );
  const display =
    io.interactive && !output.json ? terminalDisplay(run.run, io, output, link) : lineDisplay(output);
  const endings = [
    io.onInterrupt(() => leave.abort()),
    options.notices?.((event) => {
      const text = describeNotice(event);
      if (text !== null) display.note(text);
    }),
  ];
  const events = run.watch({ signal: leave.signal });
  let progress = noProgress;
  try {
    for (;;) {
      const next = await Promise.race([events.next(), left]);
      if (next === 'left' || next.done) return null;
      if (output.json) output.result(next.value, '');
      const before = progress;
      progress = advance(progress, next.value);
      display.show(before, progress);
      if (next.value.kind === 'finished') return next.value.state;
    }
  } finally {
    leave.abort();
    display.done();
    endings.forEach((end) => end?.());
  }
}

/** Deaths are worth a line: they show that the run outlives them. */
export function describeNotice(event: SupervisorEvent): string | null {
  if (event.event === 'exited') {
    return `${event.name} (pid ${event.pid}) ended: ${event.error ?? event.signal ?? `exit code ${event.code}`}`;
  }
  if (event.event === 'restarting') return `${event.name} is started again (restart ${event.restarts})`;
  return null;
}

interface Display {
  show(before: Progress, after: Progress): void;
  note(line: string): void;
  done(): void;
}

function terminalDisplay(run: string, io: Io, { colors }: Output, link: string | null): Display {
  const update = createLogUpdate(io.stderr as NodeJS.WriteStream);
  let block = '';
  return {
    show(_, after) {
      block = renderBlock(after, { run, colors, link });
      update(block);
    },
    note(line) {
      update(colors.yellow(line));
      update.done();
      update(block);
    },
    done: () => update.done(),
  };
}

function lineDisplay(output: Output): Display {
  return {
    show: (before, after) => renderChanges(before, after).forEach((line) => output.note(line)),
    note: (line) => output.note(line),
    done: () => undefined,
  };
}
