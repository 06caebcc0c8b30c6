/** Counters and histograms in the text format of Prometheus (version 0.0.4). */
export type Labels = Readonly<Record<string, string>>;

export interface Instrument {
  /** Lines of the exposition, without a final newline. */
  render(): string[];
}

function line(name: string, labels: Labels, value: number): string {
  const escaped = (text: string): string =>
    text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
  const pairs = Object.entries(labels).map(([key, text]) => `${key}="${escaped(text)}"`);
  return `${name}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${value}`;
}

function header(name: string, help: string, type: string): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`];
}

export class Counter implements Instrument {
  readonly #name: string;
  readonly #help: string;
  readonly #series = new Map<string, { labels: Labels; value: number }>();

  constructor(name: string, help: string) {
    this.#name = name;
    this.#help = help;
  }

  add(amount: number, labels: Labels = {}): void {
    const key = JSON.stringify(labels);
    const series = this.#series.get(key) ?? { labels, value: 0 };
    series.value += amount;
    this.#series.set(key, series);
  }

  render(): string[] {
    const lines = [...this.#series.values()].map(({ labels, value }) => line(this.#name, labels, value));
    return [
      ...header(this.#name, this.#help, 'counter'),
      ...(lines.length > 0 ? lines : [`${this.#name} 0`]),
    ];
  }
}

/** A value as it is at the moment. */
export class Reading implements Instrument {
  readonly #lines: string[];

  constructor(type: 'counter' | 'gauge', name: string, help: string, value: number, labels: Labels = {}) {
    this.#lines = [...header(name, help, type), line(name, labels, value)];
  }

  render(): string[] {
    return this.#lines;
  }
}

export class Histogram implements Instrument {
  readonly #name: string;
  readonly #help: string;
  readonly #bounds: readonly number[];
  readonly #counts: number[];
  #sum = 0;
  #count = 0;

  /** @param bounds upper bounds of the buckets, ascending; one without a bound is added */
  constructor(name: string, help: string, bounds: readonly number[]) {
    this.#name = name;
    this.#help = help;
    this.#bounds = bounds;
    this.#counts = bounds.map(() => 0);
  }

  observe(value: number): void {
    const bucket = this.#bounds.findIndex((bound) => value <= bound);
    if (bucket >= 0) this.#counts[bucket]! += 1;
    this.#sum += value;
    this.#count++;
  }

  render(): string[] {
    let below = 0;
    const buckets = this.#bounds.map((bound, i) => {
      below += this.#counts[i]!;
      return line(`${this.#name}_bucket`, { le: String(bound) }, below);
    });
    return [
      ...header(this.#name, this.#help, 'histogram'),
      ...buckets,
      line(`${this.#name}_bucket`, { le: '+Inf' }, this.#count),
      line(`${this.#name}_sum`, {}, this.#sum),
      line(`${this.#name}_count`, {}, this.#count),
    ];
  }
}
