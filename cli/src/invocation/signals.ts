/** @module Signals that end a command, and what is to be done before it goes. */
import { constants } from "node:os";

export const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export const leaveBy = (signal: NodeJS.Signals): never => process.exit(128 + constants.signals[signal]);

/** Work that clears up after itself when it is aborted gets to do so before the process goes. */
export async function untilSignalled<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const abort = new AbortController();
  let by: NodeJS.Signals | undefined;
  const onSignal = (signal: NodeJS.Signals) => {
    by = signal;
    abort.abort();
  };
  for (const signal of SIGNALS) process.once(signal, onSignal);
  try {
    return await work(abort.signal);
  } catch (error) {
    if (by) leaveBy(by);
    throw error;
  } finally {
    for (const signal of SIGNALS) process.off(signal, onSignal);
  }
}
