/** @module Every bound of this guest; the same as those of `images/guest/limits.py` where both have one. */

export const LINE_BYTES = 4 * 1024 * 1024;
export const EVENT_TEXT = 32 * 1024;
export const CONTEXTS = 16;

/** More than this unacknowledged: kernels are not read. */
export const UNACKED_BYTES = 16 * 1024 * 1024;
export const RESUME_BYTES = 12 * 1024 * 1024;
export const EXECUTIONS_REMEMBERED = 10_000;
export const QUEUED_PER_CONTEXT = 256;
export const CALLS_IN_FLIGHT = 64;

export const LATE_BYTES_QUEUED = 256 * 1024;
export const LATE_BURST = 256 * 1024;
export const LATE_PER_S = 32 * 1024;
/** Of one result as JSON: the daemon lets no more through, since it must fit a frame. */
export const RESULT_BYTES = 1_400_000;
export const ERROR_NAME = 256;
export const ERROR_VALUE = 16 * 1024;
export const ERROR_TRACEBACK = 64 * 1024;
export const RESULTS_PER_EXECUTION = 10_000;

/** Output waits this long for more of it before it becomes an event. */
export const COALESCE_MS = 4;
export const KERNEL_START_MS = 60_000;
export const FAILED_STARTS = 3;
/** How often memory and storage are looked at while code runs. */
export const WATCH_MS = 50;
export const STORAGE_LOOK_MS = 1000;
/** While none runs, one of so many looks is taken. */
export const QUIET_LOOKS = 10;
/** Of an answer's body, in one frame. */
export const FETCH_CHUNK_BYTES = 128 * 1024;
export const REDIRECTS = 20;
