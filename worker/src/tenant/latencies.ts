/** @module How long things took, counted by size: each class is a tenth longer than the one before. */

const GROWTH = Math.log(1.1);

/** How many there were, by class. */
export type Latencies = Record<string, number>;

export function countLatency(latencies: Latencies, ms: number): void {
  const at = ms < 1 ? 0 : 1 + Math.floor(Math.log(ms) / GROWTH);
  latencies[at] = (latencies[at] ?? 0) + 1;
}

export function mergeLatencies(into: Latencies, from: Latencies): void {
  for (const [at, count] of Object.entries(from)) into[at] = (into[at] ?? 0) + count;
}

/** What everything in a class is shorter than, in milliseconds. */
export const boundOf = (at: number) => Math.exp(at * GROWTH);

/** What stands for all of a class. */
export const middleOf = (at: number) => (at === 0 ? 0 : Math.exp((at - 0.5) * GROWTH));

/** The time that a share of all stayed below, within 5 %; null when there are none. */
export function percentile(latencies: Latencies, share: number): number | null {
  const classes = Object.entries(latencies)
    .map(([at, count]) => [Number(at), count] as const)
    .sort(([a], [b]) => a - b);
  const total = classes.reduce((sum, [, count]) => sum + count, 0);
  let seen = 0;
  for (const [at, count] of classes) {
    seen += count;
    if (seen >= total * share) return rounded(middleOf(at));
  }
  return null;
}

const rounded = (ms: number) => (ms < 100 ? Math.round(ms * 10) / 10 : Math.round(ms));
