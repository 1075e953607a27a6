/** @module Medians and percentiles; the machine is shared and noisy, so means say little. */
export interface Summary {
  n: number;
  median: number;
  p95: number;
  min: number;
}

export function summarize(samples: number[]): Summary {
  const sorted = samples.toSorted((a, b) => a - b);
  const at = (q: number) => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN;
  return { n: sorted.length, median: at(0.5), p95: at(0.95), min: at(0) };
}

export const ms = (value: number): string =>
  value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
export const ratio = (value: number): string => `${value >= 10 ? value.toFixed(0) : value.toFixed(1)}×`;
