import { type HostFrame, HostFrameSchema, type KernelEvent, type Outcome } from "@sandbar/shared";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ReportBatch, reportFrames } from "./report.ts";

const OUTCOME: Outcome = {
  status: "ok",
  error: null,
  exit_code: null,
  totals: null,
  state: { variables: "kept", files: "kept" },
  started_at: 1,
  finished_at: 2,
  last_seq: 3,
  artifacts: [],
  artifacts_skipped: [],
};
const text = (seq: number, chars = 1): KernelEvent => ({ type: "stdout", seq, text: "é".repeat(chars) });
const parse = (frame: string) =>
  HostFrameSchema.parse(JSON.parse(frame)) as Extract<HostFrame, { t: "report" }>;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});
const sleep = (ms: number) => vi.advanceTimersByTimeAsync(ms);

describe("reports", () => {
  it("never exceed the limit, also when the last event and the outcome together would", () => {
    const event = JSON.stringify({ type: "stdout", seq: 1, text: "x".repeat(2500) });
    const outcome = { status: "ok", artifacts: ["y".repeat(1900)], last_seq: 1 } as never;
    const frames = reportFrames("ses", "exe", [event], outcome, 4096);
    expect(frames.map((frame) => frame.length <= 4096)).not.toContain(false);
    expect(frames.map((frame) => JSON.parse(frame).outcome !== null)).toEqual([false, true]);
  });

  it("are split below the limit, in order, with the outcome on the last", () => {
    const events = Array.from({ length: 50 }, (_, i) => JSON.stringify(text(i + 1, 1000)));
    const frames = reportFrames("ses", "exe", events, OUTCOME, 10_000);
    expect(frames.length).toBeGreaterThan(5);
    for (const frame of frames) expect(Buffer.byteLength(frame)).toBeLessThanOrEqual(10_000);
    const parsed = frames.map(parse);
    expect(parsed.flatMap((f) => f.events.map((e) => e.seq))).toEqual(
      Array.from({ length: 50 }, (_, i) => i + 1),
    );
    expect(parsed.map((f) => f.outcome !== null)).toEqual(frames.map((_, i) => i === frames.length - 1));
  });

  it("carry an outcome without events", () => {
    expect(parse(reportFrames("ses", "exe", [], OUTCOME)[0]!)).toMatchObject({
      events: [],
      outcome: OUTCOME,
    });
  });

  it("of a short cell are one frame", async () => {
    const sent: [number, Outcome | null][] = [];
    const batch = new ReportBatch((events, outcome) => sent.push([events.length, outcome]));
    batch.add({ type: "started", seq: 1 });
    await sleep(1);
    batch.add(text(2));
    batch.flush(OUTCOME);
    await sleep(20);
    expect(sent).toEqual([[2, OUTCOME]]);
  });

  it("leave while the code runs on", async () => {
    const sent: number[] = [];
    const batch = new ReportBatch((events) => sent.push(events.length));
    batch.add({ type: "started", seq: 1 });
    await sleep(30);
    batch.add(text(2));
    batch.add(text(3));
    await sleep(10);
    expect(sent).toEqual([1, 2]);
  });

  it("wait for an outcome that is near, and leave without one that is not", async () => {
    const sent: [number, Outcome | null][] = [];
    const batch = new ReportBatch((events, outcome) => sent.push([events.length, outcome]), 1);
    batch.add(text(1));
    batch.hold(1_000);
    await sleep(20);
    expect(sent).toEqual([]);
    batch.flush(OUTCOME);
    expect(sent).toEqual([[1, OUTCOME]]);
    batch.add(text(2));
    batch.hold(5);
    await sleep(30);
    expect(sent.slice(1)).toEqual([[1, null]]);
    batch.hold(1);
    await sleep(10);
    expect(sent).toHaveLength(2);
  });
});
