/** A session whose inputs and outputs are arrays of this process; the CPU's own, or of a device that they are copied to and from. */
import type { Graph } from '../graph/graph.ts';
import { loadSession, type HostTensor, type LoadOptions, type NativeSession } from './runtime.ts';
import { addUnreadableOutput, isUnreadableOutput, UNREADABLE_OUTPUT } from './unreadable-output.ts';

/** How results reach the caller's tensors: without a further copy, or with the copy that the binding makes of each output. */
export type OutputPath = 'in-place' | 'copy';

type Tensors = Readonly<Record<string, HostTensor>>;

export class HostSession {
  readonly #native: NativeSession;
  readonly #inPlace: boolean;

  constructor(graph: Graph, outputPath: OutputPath, options: LoadOptions) {
    this.#inPlace = outputPath === 'in-place';
    const model = graph.toModel();
    if (this.#inPlace) addUnreadableOutput(model);
    this.#native = loadSession(model, options);
  }

  run(feeds: Tensors, fetches: Tensors): void {
    if (this.#inPlace) runInPlace(this.#native, feeds, fetches);
    else this.#native.run(feeds, fetches, {});
  }

  endProfiling(): void {
    this.#native.endProfiling();
  }

  dispose(): void {
    this.#native.dispose();
  }
}

/**
 * The binding copies every output it returns, even one that it has already written into the caller's tensor. It converts
 * outputs in order and gives up at the first whose type JavaScript has no array for; the graph then has run and our tensors
 * are filled. So such an output stands first, and the complaint about it means success.
 */
function runInPlace(session: NativeSession, feeds: Tensors, fetches: Tensors): void {
  try {
    session.run(feeds, { [UNREADABLE_OUTPUT]: null, ...fetches }, {});
  } catch (error) {
    if (isUnreadableOutput(error)) return;
    throw error;
  }
  throw new Error('the runtime returned an output of a type that it used to refuse');
}
