/** How often whatever a key holds open asks whether it may go on; with the answer's own age, all ends within 5 seconds. */
export const RECHECK_MS = 2_500;
