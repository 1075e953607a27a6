import { HostFrameSchema } from "@sandbar/shared";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isPlainReport, parseMessage, parseOpening } from "./host-frame.ts";

const report = {
  t: "report",
  session: "ses_1",
  execution: "exe_1",
  events: [
    { type: "started", seq: 1 },
    { type: "stdout", seq: 2, text: "hello" },
    { type: "result", seq: 3, data: { "text/plain": "2" } },
  ],
  outcome: {
    status: "ok",
    error: null,
    exit_code: null,
    totals: { stdout: 5, stderr: 0, results_dropped: 0 },
    state: { variables: "kept", files: "kept" },
    started_at: 1,
    finished_at: 2,
    last_seq: 3,
    artifacts: [],
    artifacts_skipped: [],
  },
};

/** Every path to a value inside `value`. */
function paths(value: unknown, prefix: (string | number)[] = []): (string | number)[][] {
  if (typeof value !== "object" || value === null) return [prefix];
  return [prefix, ...Object.entries(value).flatMap(([key, inner]) => paths(inner, [...prefix, key]))];
}

function replaced(value: unknown, path: (string | number)[], by: unknown): unknown {
  if (path.length === 0) return by;
  const copy = structuredClone(value) as Record<string | number, unknown>;
  copy[path[0]!] = replaced(copy[path[0]!], path.slice(1), by);
  return copy;
}

describe("the shortcut for reports", () => {
  it("takes the report of a short cell", () => {
    expect(isPlainReport(report)).toBe(true);
    const text = JSON.stringify(report);
    const frame = HostFrameSchema.parse(report);
    expect(parseMessage(text)).toEqual([{ frame, length: text.length }]);
  });

  it("takes nothing that the schema refuses or would change", () => {
    fc.assert(
      fc.property(fc.constantFrom(...paths(report)), fc.jsonValue({ maxDepth: 2 }), (path, by) => {
        const frame = JSON.parse(JSON.stringify(replaced(report, path, by))) as unknown;
        const judged = HostFrameSchema.safeParse(frame);
        if (isPlainReport(frame)) expect(judged).toEqual({ success: true, data: frame });
        if (judged.success) expect(parseMessage(JSON.stringify(frame))?.[0]?.frame).toEqual(judged.data);
      }),
      { numRuns: 3000, examples: [[["events", 2, "data"], JSON.parse('{"__proto__":1}')]] },
    );
  });

  it("refuses what is not JSON, not text, or too long", () => {
    for (const message of ["{", new ArrayBuffer(2), `"${"x".repeat(3_000_000)}"`])
      expect(parseMessage(message)).toBeNull();
    const hello = { t: "hello", sessions: [], boot: "x".repeat(3_000_000) };
    expect(parseOpening(JSON.stringify(hello))).toBeNull();
  });

  it("makes of one that cannot be read what it can, for the one whom it names", () => {
    const made = (frame: object) => parseMessage(JSON.stringify(frame))?.map((one) => one.frame);
    const other = { ...report, outcome: { ...report.outcome, status: "new" } };
    fc.assert(
      fc.property(fc.constantFrom(...paths(report)), fc.jsonValue({ maxDepth: 2 }), (path, by) => {
        const [frame] = made(replaced(other, path, by) as object) ?? [];
        if (frame) expect(HostFrameSchema.safeParse(frame).data).toEqual(frame);
      }),
      { numRuns: 1000 },
    );
    const huge = "x".repeat(3_000_000);
    const { outcome, ...open } = report;
    expect(made({ ...open, outcome: null, events: [{ type: "stdout", seq: 4, text: huge }] })).toEqual([
      { ...open, outcome: null, events: [{ type: "stdout", seq: 4, text: "" }] },
    ]);
    expect(made({ ...report, outcome: { ...outcome, status: "new" } })).toMatchObject([
      { session: "ses_1", outcome: { status: "unknown", last_seq: null } },
    ]);
    expect(made({ t: "answer", id: "req_1", failure: { code: "NEW", detail: "why" } })).toEqual([
      { t: "answer", id: "req_1", failure: { code: "HOST_ERROR", detail: "why" } },
    ]);
    expect(made({ t: "news", session: "ses_1" })).toEqual([]);
    for (const nobody of [{ t: "news" }, { t: "answer" }, { t: "report", events: [] }, { t: "ack" }])
      expect(made(nobody)).toBeUndefined();
  });

  it("takes several in one message, or none", () => {
    const text = JSON.stringify(report);
    const ack = '{"t":"ack","n":7}';
    expect(parseMessage(`${ack}\n${text}`)?.map(({ frame }) => frame.t)).toEqual(["ack", "report"]);
    for (const message of [`${ack}\n`, `\n${ack}`, `${ack}\n{}`, ""])
      expect(parseMessage(message)).toBeNull();
  });
});
