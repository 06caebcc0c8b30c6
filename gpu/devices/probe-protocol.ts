/** Messages of a probe's process, in the order in which it gets on. */
export type ProbeMessage =
  | { type: 'opened'; adapter: string | null }
  | { type: 'trained'; difference: number }
  | { type: 'refused'; message: string };

/** `open` computes one number on the device; `train` also takes a training step. */
export type ProbeDepth = 'open' | 'train';
