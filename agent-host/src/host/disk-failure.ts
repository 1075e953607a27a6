/** @module Tells a disk that is full or broken from faults of our own. */

/** SQLite's: read-only, I/O error, corrupt, full, cannot be opened. */
const NUMBERS = new Set([8, 10, 11, 13, 14]);
const CODES = new Set(["ENOSPC", "EDQUOT", "EROFS", "EIO"]);

export function isDiskFailure(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  if ("errcode" in error) return NUMBERS.has(Number(error.errcode) & 0xff);
  return CODES.has(String((error as NodeJS.ErrnoException).code));
}
