import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { DaemonMessage, GuestEvent, KernelEvent, Outcome } from "@sandbar/shared";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Figures } from "../host/figures.ts";
import { type ExecutionRow, Journal } from "../journal/journal.ts";
import { Execution, type ExecutionHost } from "./execution.ts";

const done = (seq: number): GuestEvent =>
  ({ type: "done", seq, status: "ok", exit_code: null, exit: null, totals: null, artifacts: [] }) as never;

/** An execution of three events that has ended, and whose report was lost. `test/faults.test.ts` has the real session. */
describe("an outcome whose events are wanted again", () => {
  const toGuest: DaemonMessage[] = [];
  const reports: { events: KernelEvent[]; outcome: Outcome | null }[] = [];
  let home: string;
  let journal: Journal;
  let execution: Execution;
  let fakeSession: ExecutionHost;
  let onItsWay: number;
  let guestAnswers: PromiseWithResolvers<unknown>;
  const events: GuestEvent[] = [
    { type: "started", seq: 1 },
    { type: "stdout", seq: 2, text: "a" },
    { type: "stdout", seq: 3, text: "b" },
  ];
  const replay = () => {
    for (const event of [...events, done(4)]) execution.onEvent(event);
  };

  beforeEach(() => {
    toGuest.length = reports.length = 0;
    guestAnswers = Promise.withResolvers();
    onItsWay = 0;
    home = mkdtempSync(path.join(tmpdir(), "sandbar-execution-"));
    journal = new Journal(home);
    fakeSession = {
      config: { maxima: { timeout_s: 60 }, startTimeoutMs: 60_000 },
      journal,
      storage: "TMPFS",
      watchers: { figures: new Figures(), spans: null },
      linked: true,
      toGuest: (message: DaemonMessage) => toGuest.push(message) > 0,
      ping: () => guestAnswers.promise,
      window: { full: false, move: (chars: number) => (onItsWay += chars) },
      toServer: (text: string) => reports.push(JSON.parse(text)) > 0,
      onFinished: () => {},
    } as unknown as ExecutionHost;
    const row = {
      id: "exe_1",
      session: "ses_1",
      command: { type: "run", execution: "exe_1", context: "python", timeout_ms: 10_000 },
      state: "accepted",
      started_at: null,
      deadline: null,
      asked: "nothing",
      killed: false,
      outcome: null,
    } as unknown as ExecutionRow;
    execution = new Execution(row, fakeSession, false);
    execution.start();
    replay();
    reports.length = 0;
  });
  afterEach(() => {
    journal.close();
    rmSync(home, { recursive: true, force: true });
  });

  it("is in the journal before the guest may forget it", () => {
    const outcomes = () => {
      const other = new Journal(home);
      const rows = other.executions().map((row) => row.outcome?.status ?? null);
      other.close();
      return rows;
    };
    const run = execution.row.command;
    journal.accept(1, () => journal.addExecution(1, "ses_1", run));
    journal.executionDone("exe_1", execution.row.outcome!);
    toGuest.length = 0;
    execution.onAck(3, true);
    // A daemon that died now would find no outcome here, and hear it from the guest.
    expect(outcomes()).toEqual([null]);
    expect(toGuest).toEqual([]);
    journal.accept(2, () => expect(toGuest).toEqual([]));
    expect(toGuest).toEqual([{ type: "ack", execution: "exe_1", seq: 4, final: true }]);
    expect(outcomes()).toEqual([]);
  });

  it("is on its way until it is acknowledged, wanted again, or the link is cut", () => {
    const sent = onItsWay;
    expect(sent).toBeGreaterThan(100);
    execution.onResend(0);
    expect(onItsWay).toBe(0);
    replay();
    expect(onItsWay).toBe(sent);
    execution.onAck(2, false);
    expect(onItsWay).toBe(sent);
    execution.onAck(3, false);
    expect(onItsWay).toBe(0);
    execution.onResend(0);
    replay();
    execution.onWelcome();
    expect(onItsWay).toBe(0);
  });

  it("is not on its way any more when the container ends: no acknowledgement comes here then", () => {
    execution.onResend(0);
    replay();
    execution.boxDied("stopped", true);
    expect(onItsWay).toBe(0);
    const running = new Execution({ ...execution.row, outcome: null, state: "started" }, fakeSession, false);
    running.boxDied("stopped", true);
    expect(reports.at(-1)).toMatchObject({ outcome: { status: "died" } });
    expect(onItsWay).toBe(0);
  });

  it("keeps them, however often the link is cut before they came", () => {
    for (let cut = 0; cut < 10; cut++) {
      execution.onWelcome();
      execution.onResend(0);
    }
    replay();
    expect(reports.at(-1)).toMatchObject({ outcome: { status: "ok", last_seq: 3 }, events });
  });

  it("is told without them when the container ends first", () => {
    execution.onWelcome();
    execution.onResend(0);
    reports.length = 0;
    execution.boxDied("stopped", true);
    expect(reports).toMatchObject([{ events: [], outcome: { status: "ok", last_seq: null } }]);
  });

  it("is told without them when the guest has forgotten it", async () => {
    execution.onResend(0);
    expect(reports).toEqual([]);
    guestAnswers.resolve({});
    await guestAnswers.promise;
    expect(reports).toMatchObject([{ events: [], outcome: { status: "ok", last_seq: null } }]);
  });

  it("is told with them when they came, and when nobody can say that they will not", async () => {
    execution.onResend(0);
    replay();
    guestAnswers.resolve({});
    await guestAnswers.promise;
    expect(reports).toMatchObject([{ outcome: { status: "ok", last_seq: 3 }, events }]);
    guestAnswers = Promise.withResolvers();
    execution.onResend(0);
    guestAnswers.reject(new Error("the sandbox's connection was lost"));
    await guestAnswers.promise.catch(() => {});
    expect(reports).toHaveLength(1);
  });

  it("is told without them when whole replays do not help", () => {
    for (let complaint = 0; complaint < 6; complaint++) {
      execution.onResend(0);
      if (complaint < 5) replay();
    }
    expect(reports.at(-1)).toMatchObject({ events: [], outcome: { status: "ok", last_seq: null } });
  });
});
