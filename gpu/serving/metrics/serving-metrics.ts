/** What a server tells of its work at `/metrics`. */
import type { GenerationRequest, TokenDelta } from '../../engine-port.ts';
import { Counter, Histogram, Reading } from './instruments.ts';

const prefix = 'rekindle_serving_';
const secondsBounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
/** Seconds that the rate of tokens is taken over. */
const rateWindow = 10;

/** Follows one request. */
export interface RequestClock {
  /** Takes note of new tokens; returns how many samples have their first among them. */
  tokens(deltas: readonly TokenDelta[]): number;
  end(): void;
}

export class ServingMetrics {
  readonly #requests = new Counter(`${prefix}requests_total`, 'HTTP requests answered, by path and status.');
  readonly #promptTokens = new Counter(`${prefix}prompt_tokens_total`, 'Prompt tokens of accepted requests.');
  readonly #newTokens = new Counter(`${prefix}generation_tokens_total`, 'Tokens generated.');
  readonly #firstToken = new Histogram(
    `${prefix}time_to_first_token_seconds`,
    'From the acceptance of a request to the first token of a sample.',
    secondsBounds,
  );
  readonly #interToken = new Histogram(
    `${prefix}inter_token_seconds`,
    'Between two tokens of a sample.',
    secondsBounds,
  );
  readonly #wholeRequest = new Histogram(
    `${prefix}generation_seconds`,
    'From the acceptance of a request to its last token.',
    secondsBounds,
  );
  /** Tokens by whole second of the clock. */
  readonly #recent = new Map<number, number>();

  answered(path: string, status: number): void {
    this.#requests.add(1, { path, status: String(status) });
  }

  begin(prompts: GenerationRequest['prompts']): RequestClock {
    const began = performance.now();
    const last = new Map<string, number>();
    this.#promptTokens.add(prompts.reduce((total, { ids }) => total + ids.length, 0));
    return {
      tokens: (deltas) => {
        const now = performance.now();
        let firsts = 0;
        for (const { prompt, sample, ids } of deltas) {
          const key = `${prompt} ${sample}`;
          const before = last.get(key);
          if (before === undefined) {
            firsts++;
            this.#firstToken.observe((now - began) / 1000);
          } else this.#interToken.observe((now - before) / 1000 / ids.length);
          last.set(key, now);
          this.#count(ids.length, now);
        }
        return firsts;
      },
      end: () => this.#wholeRequest.observe((performance.now() - began) / 1000),
    };
  }

  /** The exposition, with gauges of what is so at the moment. */
  render(gauges: {
    waiting: number;
    running: number;
    paused: boolean;
    weightVersion: string;
    released: readonly string[];
  }): string {
    const gauge = (name: string, help: string, value: number, labels = {}): Reading =>
      new Reading('gauge', name, help, value, labels);
    const { weightVersion } = gauges;
    return [
      this.#requests,
      gauge(`${prefix}waiting_samples`, 'Samples without a token yet.', gauges.waiting),
      gauge(`${prefix}running_samples`, 'Samples that are being generated.', gauges.running),
      gauge(`${prefix}paused`, '1 while generation is paused.', Number(gauges.paused)),
      gauge(`${prefix}memory_released`, '1 while memory is released.', Number(gauges.released.length > 0)),
      this.#promptTokens,
      this.#newTokens,
      gauge(`${prefix}tokens_per_second`, `Tokens generated, over ${rateWindow} s.`, this.#rate()),
      this.#firstToken,
      this.#interToken,
      this.#wholeRequest,
      gauge(`${prefix}weights_info`, 'The version of the weights, as a label.', 1, {
        version: weightVersion,
      }),
      gauge('process_resident_memory_bytes', 'Resident memory of the process.', process.memoryUsage.rss()),
      new Reading('counter', 'process_cpu_seconds_total', 'CPU time of the process.', cpuSeconds()),
      gauge('process_start_time_seconds', 'Start of the process, Unix time.', startTime()),
    ]
      .flatMap((instrument) => instrument.render())
      .map((text) => `${text}\n`)
      .join('');
  }

  #count(tokens: number, now: number): void {
    this.#newTokens.add(tokens);
    const second = Math.floor(now / 1000);
    this.#recent.set(second, (this.#recent.get(second) ?? 0) + tokens);
    for (const old of this.#recent.keys()) if (old <= second - rateWindow - 1) this.#recent.delete(old);
  }

  /** Over the last whole seconds. */
  #rate(): number {
    const now = Math.floor(performance.now() / 1000);
    let tokens = 0;
    for (const [second, count] of this.#recent) {
      if (second < now && second >= now - rateWindow) tokens += count;
    }
    return tokens / rateWindow;
  }
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

function startTime(): number {
  return Date.now() / 1000 - process.uptime();
}
