/** @module Which lines an axis may have, so that each is a number that one would say. */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DECIMAL = Array.from({ length: 13 }, (_, power) => [1, 2, 5].map((n) => n * 10 ** power)).flat();

export const AXIS_STEPS = {
  whole: DECIMAL,
  bytes: Array.from({ length: 50 }, (_, power) => 2 ** power),
  /** Milliseconds. */
  time: [
    ...DECIMAL.filter((step) => step < 10 * SECOND),
    ...[10, 20, 30].map((n) => n * SECOND),
    ...[1, 2, 5, 10, 20, 30].map((n) => n * MINUTE),
    ...[1, 2, 5, 10, 24].map((n) => n * HOUR),
  ],
} as const satisfies Record<string, readonly number[]>;

export type AxisSteps = keyof typeof AXIS_STEPS;

/** So many lines above zero there are room for. */
const LINES = 2;

/** Where the axis ends, so that its last line is at its top. */
export function topOf(max: number, steps: AxisSteps): number {
  if (!(max > 0)) return 1;
  const step = AXIS_STEPS[steps].find((each) => max / each <= LINES);
  return step ? Math.ceil(max / step) * step : max;
}
