/** @module Keeps a line to a process's terminal: opens it again after a cut, until the process or the caller ends it. */
import type { Session, Terminal, TerminalExit } from "@sandbar/sdk";
import { isHopeless } from "../../api/hopeless.ts";

export type LineState =
  | { kind: "connecting" }
  | { kind: "open" }
  /** Gone for now; it is being opened again. */
  | { kind: "cut" }
  | { kind: "exited"; exit: TerminalExit }
  /** Trying again would not help. */
  | { kind: "failed"; error: unknown };

interface Line {
  /** The newest size, asked for at every attempt. */
  size: () => { cols: number; rows: number };
  onLine: (terminal: Terminal) => void;
  onState: (state: LineState) => void;
}

const FIRST_WAIT_MS = 300;
const LONGEST_WAIT_MS = 5000;

export async function holdLine(
  session: Session,
  process: string,
  { size, onLine, onState }: Line,
  signal: AbortSignal,
): Promise<void> {
  let wait = FIRST_WAIT_MS;
  onState({ kind: "connecting" });
  while (!signal.aborted) {
    try {
      const terminal = await session.terminal({ process, ...size() });
      if (signal.aborted) return terminal.close();
      const leave = () => terminal.close();
      signal.addEventListener("abort", leave, { once: true });
      onLine(terminal);
      onState({ kind: "open" });
      wait = FIRST_WAIT_MS;
      const exit = await terminal.closed;
      signal.removeEventListener("abort", leave);
      if (signal.aborted) return;
      if (exit) return onState({ kind: "exited", exit });
    } catch (error) {
      if (signal.aborted) return;
      if (isHopeless(error)) return onState({ kind: "failed", error });
    }
    onState({ kind: "cut" });
    await pause(wait, signal);
    wait = Math.min(LONGEST_WAIT_MS, wait * 2);
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done);
  });
}
