import { type Artifact, type HostFrame, HostFrameSchema, type Outcome } from "@sandbar/shared";
import { describe, expect, it } from "vitest";
import { boundFrame } from "./frame-bound.ts";

const LIMIT = 50_000;
const long = "x".repeat(LIMIT);
const artifact = (n: number): Artifact => ({
  id: `art_${n}`,
  session_id: "ses_1",
  execution_id: "exe_1",
  name: `${n}.txt`,
  size: 1,
  mime: "text/plain",
  sha256: "0".repeat(64),
  created_at: "2026-01-01T00:00:00.000Z",
  url: "/v1/artifacts/x",
});
const outcome = (over: Partial<Outcome>): Outcome => ({
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
  ...over,
});
const session = { t: "session", session: "ses_1" } as const;
const report = { t: "report" as const, session: "ses_1", execution: "exe_1", events: [], outcome: null };

function bounded(frame: HostFrame): HostFrame {
  const text = boundFrame(JSON.stringify(frame), LIMIT)!;
  expect(text.length).toBeLessThanOrEqual(LIMIT);
  return HostFrameSchema.parse(JSON.parse(text));
}

describe("a frame", () => {
  it("that fits is left alone", () => {
    const text = JSON.stringify({ ...report, outcome: outcome({}) });
    expect(boundFrame(text, LIMIT)).toBe(text);
  });

  it("that is too long becomes a failure of its question", () => {
    const failure = { code: "HOST_ERROR", detail: expect.any(String) };
    expect(bounded({ t: "answer", id: "req_1", result: long })).toEqual({
      t: "answer",
      id: "req_1",
      failure,
    });
    const said = { code: "HOST_ERROR" as const, detail: long };
    expect(bounded({ t: "answer", id: "req_1", failure: said })).toEqual({
      t: "answer",
      id: "req_1",
      failure,
    });
  });

  it("that is too long keeps how its execution ended, its events' numbers and what artifacts fit", () => {
    const artifacts = Array.from({ length: 1000 }, (_, i) => artifact(i));
    const ended = bounded({ ...report, outcome: outcome({ artifacts, exit_code: 7 }) });
    expect(ended).toMatchObject({ outcome: { status: "ok", exit_code: 7, last_seq: 3 } });
    const told = (ended as Extract<HostFrame, { t: "report" }>).outcome!;
    expect(told.artifacts.length).toBeGreaterThan(50);
    expect(told.artifacts).toEqual(artifacts.slice(0, told.artifacts.length));
    expect(told.artifacts_skipped).toHaveLength(1);
    const skipped = Array.from({ length: 1000 }, () => ({ name: "x".repeat(60), reason: "a symbolic link" }));
    expect(bounded({ ...report, outcome: outcome({ artifacts_skipped: skipped }) })).toMatchObject({
      outcome: { artifacts_skipped: [{ name: "" }] },
    });
    expect(bounded({ ...report, events: [{ type: "stdout", seq: 4, text: long }] })).toMatchObject({
      events: [{ seq: 4 }],
    });
  });

  it("that is too long keeps the state of its session", () => {
    expect(
      bounded({ ...session, report: { state: "failed", failure: { code: "HOST_ERROR", detail: long } } }),
    ).toMatchObject({ report: { state: "failed", failure: { code: "HOST_ERROR" } } });
    expect(
      bounded({
        ...session,
        report: { state: "died", error: { name: "CONTAINER_DIED", value: long, traceback: "" } },
      }),
    ).toMatchObject({ report: { state: "died", error: { name: "CONTAINER_DIED" } } });
    const languages = Array.from({ length: 20_000 }, () => "r" as const);
    expect(bounded({ ...session, report: { state: "ready", languages, image: "x" } })).toEqual({
      ...session,
      report: { state: "ready", languages: ["r"], image: "x" },
    });
    expect(bounded({ t: "progress", session: "ses_1", step: "pull", detail: long })).toMatchObject({
      step: "pull",
    });
  });
});
