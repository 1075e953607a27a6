import type { ProcessRecord } from "@sandbar/sdk";

/** How a process stands, in a word or two. */
export function stateWords({ status, exit_code, signal, oom_killed }: ProcessRecord): string {
  if (status === "running") return "running";
  if (oom_killed) return "out of memory";
  if (signal) return signal;
  return exit_code === 0 ? "ended" : `exit code ${exit_code}`;
}

/** For StateDot's colours. */
export function stateOf({ status, exit_code, oom_killed }: ProcessRecord): string {
  if (status === "running") return "running";
  return exit_code === 0 && !oom_killed ? "exited" : "error";
}
