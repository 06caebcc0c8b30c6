/** What a benchmark measured. */
export interface BenchResult {
  figures: Record<string, number>;
  /** Lines for a person who wants to know where a figure comes from. */
  notes: string[];
}
