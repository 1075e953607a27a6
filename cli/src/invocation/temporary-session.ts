/** @module A session of one command's own: it goes when the command does, whatever ends that. */
import type { Session } from "@sandbar/sdk";
import { leaveBy, SIGNALS } from "./signals.ts";

export async function temporarySession(making: Promise<Session>) {
  const leave = (signal: NodeJS.Signals) => {
    // While code runs, Ctrl-C is for the code.
    if (signal === "SIGINT" && process.listenerCount("SIGINT") > 1) return;
    // Whoever asks twice is not kept waiting.
    forget();
    const end = () => leaveBy(signal);
    making.then((session) => session.stop()).then(end, end);
  };
  const forget = () => {
    for (const signal of SIGNALS) process.off(signal, leave);
  };
  for (const signal of SIGNALS) process.on(signal, leave);
  // A reader that leaves early does not end this process before the session is stopped.
  process.on("SIGPIPE", () => {});
  const session = await making;
  return { session, done: () => session.stop().finally(forget) };
}
