import type { ExecutionEvent, ExecutionNews, ExecutionRecord } from "@sandbar/sdk";
import { describe, expect, it } from "vitest";
import { entryOfNews, entryOfRecord, isOutOfOrder, withEvent } from "./entry.ts";

const record = (more: Partial<ExecutionRecord> = {}) =>
  ({
    id: "exe_1",
    session_id: "ses_1",
    context: "python",
    language: "python",
    status: "ok",
    stdout: "",
    stderr: "",
    text: null,
    results: [],
    error: null,
    truncated: {},
    artifacts: [],
    artifacts_skipped: [],
    state: { variables: "kept", files: "kept" },
    queued_at: "2026-01-01T00:00:00Z",
    started_at: null,
    finished_at: null,
    duration_ms: 5,
    ...more,
  }) as ExecutionRecord;

const news: ExecutionNews = {
  session: "ses_1",
  execution: "exe_1",
  context: "python",
  language: "python",
  state: "started",
  status: "running",
  error_code: null,
  code: "print(1)",
  created_at: "2026-01-01T00:00:00Z",
  ended_at: null,
  duration_ms: null,
};

const stdout = (id: number, text: string) => ({ type: "stdout", id: String(id), text }) as ExecutionEvent;
const finished = (id: number, execution: ExecutionRecord) =>
  ({ type: "finished", id: String(id), execution }) as ExecutionEvent;

describe("an execution that is followed", () => {
  it("shows output in the order in which it came, and joins what belongs together", () => {
    const events = [
      stdout(2, "a"),
      stdout(3, "b\n"),
      { type: "stderr", id: "4", text: "warning\n" } as ExecutionEvent,
      stdout(5, "c"),
      { type: "result", id: "6", data: { "text/plain": "1" } } as ExecutionEvent,
    ];
    expect(events.reduce(withEvent, entryOfNews(news)).outputs).toEqual([
      { kind: "stdout", text: "ab\n" },
      { kind: "stderr", text: "warning\n" },
      { kind: "stdout", text: "c" },
      { kind: "result", data: { "text/plain": "1" } },
    ]);
  });

  it("takes each event once, although two streams or a cut bring it again", () => {
    const events = [stdout(2, "a"), stdout(2, "a"), stdout(3, "b"), stdout(2, "a")];
    expect(events.reduce(withEvent, entryOfNews(news)).outputs).toEqual([{ kind: "stdout", text: "ab" }]);
  });

  it("keeps what it saw when the record has less of it, and does not call that cut", () => {
    const text = "x".repeat(60_000);
    const done = withEvent(
      withEvent(entryOfNews(news), stdout(2, text)),
      finished(3, record({ stdout: text.slice(0, 50_000), truncated: { stdout: 60_000, result: 9 } })),
    );
    expect(done.outputs).toEqual([{ kind: "stdout", text }]);
    expect(done.truncated).toEqual({ result: 9 });
    expect(done.status).toBe("ok");
  });

  it("shows an ending that only the record tells", () => {
    const error = { name: "TIMEOUT", value: "It ran too long", traceback: "" };
    const done = withEvent(entryOfNews(news), finished(1, record({ status: "timeout", error })));
    expect(done.outputs).toEqual([{ kind: "error", ...error }]);
  });

  it("does not tell an error twice", () => {
    const error = { name: "ValueError", value: "x", traceback: "…" };
    const failed = withEvent(entryOfNews(news), { type: "error", id: "2", error } as ExecutionEvent);
    expect(withEvent(failed, finished(3, record({ status: "error", error }))).outputs).toHaveLength(1);
  });
});

describe("what is known of an execution", () => {
  it("has its whole code from the record, its beginning from events", () => {
    const begun = entryOfNews(news);
    expect(begun).toMatchObject({ code: "print(1)", partial: true, status: "running" });
    expect(entryOfRecord(record({ code: "print(1)\nprint(2)" }), begun)).toMatchObject({
      code: "print(1)\nprint(2)",
      partial: false,
    });
  });

  it("is not taken back by late news", () => {
    const done = entryOfRecord(record({ code: "1" }));
    expect(entryOfNews(news, done)).toBe(done);
  });
});

it("a record has lost the order of its outputs when they are of more than one kind, and all there", () => {
  const plot = { "text/plain": "<Figure>" };
  const lost = (more: Partial<ExecutionRecord>) => isOutOfOrder(entryOfRecord(record(more)));
  expect(lost({ stdout: "a", results: [plot] })).toBe(true);
  expect(lost({ stdout: "a", stderr: "b" })).toBe(true);
  expect(lost({ stdout: "a" })).toBe(false);
  expect(lost({ results: [plot, plot] })).toBe(false);
  expect(lost({ stdout: "a", stderr: "b", status: "running" })).toBe(false);
  expect(lost({ stdout: "a", stderr: "b", truncated: { stdout: 9 } })).toBe(false);
});
