/** @module A process as the API shows it. */
import { type GuestProcess, type Process, signalName } from "@sandbar/shared";

export function toProcess(session: string, guest: GuestProcess): Process {
  const { exit } = guest;
  return {
    id: guest.process,
    session_id: session,
    command: guest.command,
    cwd: guest.cwd,
    pty: guest.pty,
    pid: guest.pid,
    status: exit ? "exited" : "running",
    ...ending(exit),
    started_at: instant(guest.started_at),
    finished_at: exit ? instant(exit.finished_at) : null,
    last_event_id: guest.last_seq,
    dropped_bytes: guest.dropped_bytes,
  };
}

export function ending(exit: GuestProcess["exit"]): Pick<Process, "exit_code" | "signal" | "oom_killed"> {
  return {
    exit_code: exit?.exit_code ?? null,
    signal: exit?.signal == null ? null : signalName(exit.signal),
    oom_killed: exit?.oom ?? false,
  };
}

function instant(seconds: number): string {
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? new Date(0).toISOString() : date.toISOString();
}
