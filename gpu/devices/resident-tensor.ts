/**
 * A float32 tensor that stays in a device's memory between runs. Fetching an output into it replaces its contents, so a tensor that
 * is both fed and fetched is updated as an array on the host would be; the device itself never writes what it reads.
 *
 * The runtime frees device memory only when told to: whoever makes a ResidentTensor releases it.
 */
import { reshapedBuffer, type HostTensor } from '../embedded/runtime.ts';

export class ResidentTensor {
  readonly shape: readonly number[];
  readonly #contents: { buffer: HostTensor | undefined };

  constructor(
    shape: readonly number[],
    contents: { buffer: HostTensor | undefined } = { buffer: undefined },
  ) {
    this.shape = shape;
    this.#contents = contents;
  }

  /** The runtime's tensor over the present contents; good until they are replaced. */
  get buffer(): HostTensor {
    const { buffer } = this.#contents;
    if (!buffer) throw new Error('a resident tensor was read before anything was written to it');
    return reshapedBuffer(buffer, this.shape);
  }

  /** The same contents, now and later, under another shape with as many elements. */
  reshaped(shape: readonly number[]): ResidentTensor {
    return new ResidentTensor(shape, this.#contents);
  }

  /** Takes over a tensor on the device and frees the old contents. */
  replace(buffer: HostTensor): void {
    this.release();
    this.#contents.buffer = buffer;
  }

  /** Frees the contents; safe to repeat. */
  release(): void {
    this.#contents.buffer?.dispose();
    this.#contents.buffer = undefined;
  }
}
