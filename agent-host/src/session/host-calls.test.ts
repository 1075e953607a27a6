import type { HostFrame } from "@sandbar/shared";
import { describe, expect, it } from "vitest";
import { createLog } from "../host/log.ts";
import { HostCalls, type HostCallsOptions } from "./host-calls.ts";

type Answer = Extract<HostFrame, { t: "answer" }>;

/** Answers what the test needs; nothing else is asked. */
function calls(handlers: Record<string, (...asked: never[]) => Promise<unknown>>) {
  const sent: Answer[] = [];
  const asked = new HostCalls({
    session: (id) => (id === "ses_here" ? ({ row: { id } } as never) : undefined),
    ofSession: handlers as unknown as HostCallsOptions["ofSession"],
    ofHost: handlers as unknown as HostCallsOptions["ofHost"],
    send: (frame) => sent.push(frame as Answer),
    log: createLog("silent"),
  });
  return async (session: string, method: string, params: unknown): Promise<Answer> => {
    await asked.onCall({ t: "call", id: `req_${sent.length}`, session, method, params });
    return sent.at(-1)!;
  };
}

describe("a question of the control plane", () => {
  it("is answered with what its handler says, and null for nothing", async () => {
    const ask = calls({
      "datasets.list": async () => ({ data: [] }),
      "tunnels.close": async () => {},
      "volumes.sizes": async ({ tenant }: { tenant: string }) => ({ [tenant]: 1 }),
    });
    expect(await ask("ses_here", "datasets.list", {})).toEqual({
      t: "answer",
      id: "req_0",
      result: { data: [] },
    });
    expect((await ask("ses_here", "tunnels.close", { grant: "grt_x" })).result).toBeNull();
    expect((await ask("", "volumes.sizes", { tenant: "default" })).result).toEqual({ default: 1 });
  });

  it("gets only the parameters that its method has", async () => {
    const ask = calls({ "processes.get": async (_session: never, params: never) => params });
    const answer = await ask("ses_here", "processes.get", { process: "prc_x", of_a_later_version: true });
    expect(answer.result).toEqual({ process: "prc_x" });
  });

  it("fails clearly when the method, its parameters or the session are not known here", async () => {
    const ask = calls({});
    const failures: [string, string, unknown, string, RegExp][] = [
      ["ses_here", "files.transmogrify", {}, "HOST_ERROR", /does not know files.transmogrify/],
      ["ses_here", "toString", {}, "HOST_ERROR", /does not know toString/],
      ["ses_here", "processes.get", { process: 7 }, "HOST_ERROR", /processes.get \(process: /],
      ["ses_here", "files.stat", {}, "HOST_ERROR", /parameters of files.stat/],
      ["ses_here", "files.stat", null, "HOST_ERROR", /parameters of files.stat/],
      ["", "volumes.remove", { tenant: "default" }, "HOST_ERROR", /volumes.remove \(name: /],
      ["ses_gone", "datasets.list", {}, "NOT_FOUND", /does not have the session/],
    ];
    for (const [session, method, params, code, detail] of failures) {
      const { failure } = await ask(session, method, params);
      expect(failure).toMatchObject({ code, detail: expect.stringMatching(detail) });
    }
  });

  it("that has a name is acted upon once, however often it is asked", async () => {
    let done = 0;
    const ask = calls({ "files.move": async () => ++done });
    const move = { from: "a", to: "b", once: "req_x" };
    expect((await ask("ses_here", "files.move", move)).result).toBe(1);
    expect((await ask("ses_here", "files.move", move)).result).toBe(1);
    expect((await ask("ses_here", "files.move", { ...move, once: "req_y" })).result).toBe(2);
  });
});
