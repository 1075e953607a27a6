/** @module What became of a stage's tests, as the reporter writes it and the run adds it up. */

export interface FileTime {
  readonly file: string;
  readonly ms: number;
}

export interface Tally {
  readonly passed: number;
  readonly failed: number;
  /** Those that passed at their second attempt; they are among the passed. */
  readonly flaky: readonly string[];
  readonly notRun: readonly string[];
  readonly files: readonly FileTime[];
}

/** In CI flaky is broken; on a developer's busy machine it is only said. */
export function judged(tally: Tally, ci: boolean): { passed: number; failed: number } {
  const broken = ci ? tally.flaky.length : 0;
  return { passed: tally.passed - broken, failed: tally.failed + broken };
}

export function slowest(files: readonly FileTime[], count = 10): string[] {
  return files
    .toSorted((a, b) => b.ms - a.ms)
    .slice(0, count)
    .map(({ file, ms }) => `${(ms / 1000).toFixed(1).padStart(7)} s  ${file}`);
}
