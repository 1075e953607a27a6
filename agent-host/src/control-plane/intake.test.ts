import type { HostFrame, ServerFrame } from "@sandbar/shared";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Intake } from "./intake.ts";

const command = (n: number): ServerFrame => ({
  t: "command",
  n,
  session: "ses_1",
  command: { type: "interrupt", execution: `exe_${n}` },
});

/** A fake link, and a receiver that journals in memory. */
function intake(lastN = 0) {
  const heard: string[] = [];
  const link = {
    send: (frame: HostFrame) => heard.push(`sent ${JSON.stringify(frame)}`) > 0,
    drop: (reason: string) => void heard.push(`dropped: ${reason}`),
  };
  const journaled = (n: number, what: string) => {
    lastN = n;
    heard.push(`${what} ${n}`);
  };
  const made = new Intake(link, {
    lastN: () => lastN,
    accept: (n) => journaled(n, "accepted"),
    skip: (n) => journaled(n, "skipped"),
    onAck: ({ execution }) => void heard.push(`ack of ${execution}`),
    onResend: () => {},
    onSessionAck: () => {},
    onCall: () => {},
  });
  return { heard, intake: made };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it("journals commands in the order of their numbers, and acknowledges the last of them", () => {
  const { heard, intake: made } = intake();
  for (const n of [1, 3, 2, 1]) made.onFrame(command(n));
  vi.runAllTimers();
  expect(heard).toEqual(["accepted 1", "accepted 2", "accepted 3", 'sent {"t":"ack","n":3}']);
});

it("skips a command that it cannot read, in its place", () => {
  const { heard, intake: made } = intake(6);
  made.onUnreadableCommand(8);
  made.onFrame(command(7));
  made.onFrame(command(9));
  expect(heard).toEqual(["accepted 7", "skipped 8", "accepted 9"]);
});

it("asks for a new connection when a command is missing, once, and begins anew on it", () => {
  const { heard, intake: made } = intake();
  made.onFrame(command(2));
  made.onFrame(command(3));
  vi.runAllTimers();
  expect(heard).toEqual(["dropped: a command is missing"]);
  made.onWelcome();
  for (const n of [1, 2, 3]) made.onFrame(command(n));
  expect(heard.slice(1)).toEqual(["accepted 1", "accepted 2", "accepted 3"]);
});

it("hands everything else on at once, whatever is missing", () => {
  const { heard, intake: made } = intake();
  made.onFrame(command(2));
  made.onFrame({ t: "ack", session: "ses_1", execution: "exe_1", seq: 1, final: true });
  expect(heard).toEqual(["ack of exe_1"]);
});
