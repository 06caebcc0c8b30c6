/** The merges of one piece, in order of rank and then of place, in O(n log n) for n tokens. */
interface Merge {
  rank: number;
  id: number;
}
type MergeOf = (left: number, right: number) => Merge | undefined;

interface Candidate extends Merge {
  place: number;
  left: number;
  right: number;
}

const none = -1;

export class MergeQueue {
  /** By place; `none` where a token was joined to one before it. */
  readonly #tokens: number[];
  readonly #next: number[];
  readonly #previous: number[];
  readonly #mergeOf: MergeOf;
  /** A binary heap, the first merge at the top. */
  readonly #heap: Candidate[] = [];

  constructor(tokens: readonly number[], mergeOf: MergeOf) {
    this.#tokens = [...tokens];
    this.#next = tokens.map((_, place) => (place + 1 < tokens.length ? place + 1 : none));
    this.#previous = tokens.map((_, place) => place - 1);
    this.#mergeOf = mergeOf;
  }

  /** The tokens that are left when nothing can be merged. */
  run(): number[] {
    for (let place = 0; place + 1 < this.#tokens.length; place++) this.#consider(place);
    for (let top = this.#pop(); top !== undefined; top = this.#pop()) this.#apply(top);
    return this.#tokens.filter((token) => token !== none);
  }

  /** Queues the merge of a token with the next one, if there is one. */
  #consider(place: number): void {
    if (place === none) return;
    const next = this.#next[place]!;
    if (next === none) return;
    const [left, right] = [this.#tokens[place]!, this.#tokens[next]!];
    const merge = this.#mergeOf(left, right);
    if (merge) this.#push({ ...merge, place, left, right });
  }

  /** Joins a pair, unless one of the two has been joined to another meanwhile. */
  #apply({ place, left, right, id }: Candidate): void {
    const next = this.#next[place]!;
    if (this.#tokens[place] !== left || next === none || this.#tokens[next] !== right) return;
    this.#tokens[place] = id;
    this.#tokens[next] = none;
    const after = this.#next[next]!;
    this.#next[place] = after;
    if (after !== none) this.#previous[after] = place;
    this.#consider(this.#previous[place]!);
    this.#consider(place);
  }

  #before(a: Candidate, b: Candidate): boolean {
    return a.rank < b.rank || (a.rank === b.rank && a.place < b.place);
  }

  #push(candidate: Candidate): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(candidate);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#before(candidate, heap[parent]!)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = candidate;
  }

  #pop(): Candidate | undefined {
    const heap = this.#heap;
    const top = heap[0];
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return top;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && this.#before(heap[child + 1]!, heap[child]!)) child++;
      if (!this.#before(heap[child]!, last)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
    return top;
  }
}
