/**
 * The programs of episodes in progress that this process keeps between two turns: a cache, found by the episode. Who takes one has
 * it alone until it is kept again. Those that wait are bounded in number (who has waited longest is stopped first) and in time.
 */
import { Program, type ProgramLabels, type ProgramRegister } from './program.ts';

/** A program, and the part of its episode that it has been through: one observation more than responses. */
export interface LiveEpisode {
  program: Program;
  observations: string[];
  responses: string[];
}

export interface IdleLimits {
  programs: number;
  seconds: number;
}

const defaultLimits: IdleLimits = { programs: 256, seconds: 900 };
const closed = 'the worker is stopping';

export class LivePrograms {
  readonly #register: ProgramRegister;
  readonly #limits: IdleLimits;
  /** In the order of how long they have waited. */
  readonly #idle = new Map<string, { live: LiveEpisode; labels: ProgramLabels; since: number }>();
  readonly #running = new Set<Program>();
  readonly #timer: NodeJS.Timeout;
  #isClosed = false;

  constructor(register: ProgramRegister, limits = defaultLimits) {
    this.#register = register;
    this.#limits = limits;
    this.#timer = setInterval(() => this.#stopExpired(), Math.min(30_000, limits.seconds * 500));
    this.#timer.unref();
  }

  start(command: readonly string[], labels: ProgramLabels): LiveEpisode {
    if (this.#isClosed) throw new Error(closed);
    const program = new Program(command, labels, this.#register);
    this.#running.add(program);
    return { program, observations: [], responses: [] };
  }

  /** The waiting program of an episode, which is the caller's from then on. */
  take(labels: ProgramLabels): LiveEpisode | undefined {
    const kept = this.#idle.get(nameOf(labels));
    this.#idle.delete(nameOf(labels));
    return kept?.live;
  }

  keep(labels: ProgramLabels, live: LiveEpisode): void {
    const other = this.take(labels);
    if (other !== undefined) void this.stop(other);
    if (this.#isClosed || !live.program.isUsable) return void this.stop(live);
    this.#idle.set(nameOf(labels), { live, labels, since: Date.now() });
    if (this.#idle.size > this.#limits.programs) this.#stopIdle(this.#idle.keys().next().value!);
  }

  /** Ends a program for good. */
  async stop({ program }: LiveEpisode): Promise<void> {
    await program.stop();
    this.#running.delete(program);
  }

  /** Runs that programs wait for. */
  runs(): Set<string> {
    return new Set([...this.#idle.values()].map(({ labels }) => labels.run));
  }

  /** Stops the waiting programs of a run. */
  stopRun(run: string): void {
    for (const [name, { labels }] of this.#idle) if (labels.run === run) this.#stopIdle(name);
  }

  /** Stops all programs, those in use too. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    this.#idle.clear();
    await Promise.all([...this.#running].map((program) => program.stop()));
  }

  #stopExpired(): void {
    const oldest = Date.now() - this.#limits.seconds * 1000;
    for (const [name, { since }] of this.#idle) if (since < oldest) this.#stopIdle(name);
  }

  #stopIdle(name: string): void {
    const { live } = this.#idle.get(name)!;
    this.#idle.delete(name);
    void this.stop(live);
  }
}

function nameOf({ run, episode }: ProgramLabels): string {
  return `${run} ${episode}`;
}
