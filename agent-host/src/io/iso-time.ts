/** @module A file's time, which may lie outside of what a date can say. */

export function isoTime(nanoseconds: string): string {
  const time = new Date(Number(BigInt(nanoseconds) / 1_000_000n));
  return Number.isNaN(time.getTime()) ? new Date(0).toISOString() : time.toISOString();
}
