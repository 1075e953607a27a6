/** How often whatever a key holds open asks whether it may go on. */
export const RECHECK_MS = 3_000;
