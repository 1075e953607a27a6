import { GuestEventSchema } from "@sandbar/shared";
import { describe, expect, it } from "vitest";
import type { Asked } from "../journal/journal.ts";
import { type Done, type Ending, outcomeOfBoxDeath, outcomeOfDone } from "./outcome.ts";

const done = (status: Done["status"], extra: Partial<Done> = {}): Done =>
  GuestEventSchema.parse({
    type: "done",
    seq: 5,
    status,
    exit_code: null,
    exit: status === "died" ? { exit_code: null, signal: 9, oom: false } : null,
    totals: { stdout: 0, stderr: 0 },
    ...extra,
  }) as Done;
const ending = (asked: Asked, extra: Partial<Ending> = {}): Ending => ({
  asked,
  killed: false,
  timeoutMs: 1500,
  storage: "TMPFS",
  startedAt: 1000,
  finishedAt: 2000,
  ...extra,
});

describe("the outcome of an execution", () => {
  // [guest says, daemon asked, killed, status, error name, variables]
  const table: [Done["status"], Asked, boolean, string, string | undefined, string][] = [
    ["ok", "nothing", false, "ok", undefined, "kept"],
    ["error", "nothing", false, "error", undefined, "kept"],
    ["interrupted", "nothing", false, "interrupted", undefined, "kept"],
    ["died", "nothing", false, "died", "KERNEL_DIED", "lost"],
    ["ok", "timeout", false, "timeout", "EXECUTION_TIMEOUT", "kept"],
    ["error", "timeout", false, "timeout", "EXECUTION_TIMEOUT", "kept"],
    ["interrupted", "timeout", false, "timeout", "EXECUTION_TIMEOUT", "kept"],
    ["died", "timeout", true, "timeout", "EXECUTION_TIMEOUT", "lost"],
    ["ok", "interrupt", false, "ok", undefined, "kept"],
    ["error", "interrupt", false, "error", undefined, "kept"],
    ["interrupted", "interrupt", false, "interrupted", "INTERRUPTED", "kept"],
    ["died", "interrupt", true, "interrupted", "INTERRUPTED", "lost"],
    ["died", "start", true, "died", "KERNEL_DIED", "lost"],
    ["died", "restart", false, "died", "KERNEL_DIED", "lost"],
    ["ok", "close", false, "ok", undefined, "kept"],
  ];
  it.each(table)(
    "is, for %s after %s (killed: %s), %s %s, variables %s",
    (said, asked, killed, status, name, variables) => {
      const outcome = outcomeOfDone(done(said), ending(asked, { killed }));
      expect(outcome).toMatchObject({
        status,
        state: { variables, files: "kept" },
        last_seq: 4,
        started_at: 1000,
      });
      expect(outcome.error?.name).toBe(name);
    },
  );

  it("names what had run out: for sure when no kernel could start, beside its exit when one ended", () => {
    const said = done("died", { shortage: { code: "PROCESS_LIMIT", detail: "64 of 64" } });
    const error = (startedAt: number | null) => outcomeOfDone(said, ending("nothing", { startedAt })).error;
    expect(error(null)).toMatchObject({ name: "PROCESS_LIMIT", value: expect.stringContaining("64 of 64") });
    expect(error(1000)).toMatchObject({ name: "KERNEL_DIED", value: "killed (SIGKILL); 64 of 64" });
  });

  it("passes on, with the reason, that the variables were gone before the code began", () => {
    const lost = { at: 0, exit: { exit_code: 3, signal: null, oom: false } };
    const state = { variables: "lost", files: "kept", lost_at: "1970-01-01T00:00:00.000Z" };
    const { status, ...outcome } = outcomeOfDone(done("ok", { lost }), ending("nothing"));
    expect([status, outcome.state]).toEqual([
      "ok",
      { ...state, reason: expect.stringContaining("exit code 3") },
    ]);
  });

  it("names running out of memory, unless the daemon itself killed the kernel", () => {
    const oom = done("died", { exit: { exit_code: null, signal: 9, oom: true } });
    expect(outcomeOfDone(oom, ending("nothing"))).toMatchObject({
      status: "died",
      error: { name: "OOM_KILLED" },
    });
    expect(outcomeOfDone(oom, ending("timeout"))).toMatchObject({
      status: "died",
      error: { name: "OOM_KILLED" },
    });
    expect(outcomeOfDone(oom, ending("timeout", { killed: true })).status).toBe("timeout");
    const heap = done("died", { exit: { exit_code: null, signal: 6, oom: true } });
    expect(outcomeOfDone(heap, ending("nothing")).error).toMatchObject({
      name: "OOM_KILLED",
      value: expect.stringContaining("heap"),
    });
  });

  it("says how a kernel died", () => {
    const reason = (exit: Done["exit"]) =>
      outcomeOfDone(done("died", { exit }), ending("nothing")).error?.value;
    expect(reason({ exit_code: null, signal: 11, oom: false })).toBe("segmentation fault (SIGSEGV)");
    expect(reason({ exit_code: 3, signal: null, oom: false })).toBe("exit code 3");
  });

  it("loses files with the container, except in a BIND folder", () => {
    expect(outcomeOfBoxDeath("killed", ending("nothing"))).toMatchObject({
      status: "died",
      error: { name: "CONTAINER_DIED", value: "killed" },
      state: { variables: "lost", files: "lost" },
      last_seq: null,
    });
    expect(outcomeOfBoxDeath("x", ending("stop", { storage: "BIND" }))).toMatchObject({
      error: { name: "SESSION_STOPPED" },
      state: { files: "kept" },
    });
    expect(outcomeOfBoxDeath("x", ending("timeout")).status).toBe("timeout");
  });
});
