/** How long a worker that was told to stop waits, in milliseconds: all of it within what the supervisor grants a process. */
export const shutdownTimes = {
  /** Activities that have not ended by then are cancelled. */
  shutdownGraceTime: 3_000,
  /** Then it ends in any case; what was cut off is repeated. */
  shutdownForceTime: 6_000,
};
