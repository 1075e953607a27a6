import { describe, expect, it } from "vitest";
import { type Answer, type SessionHistory, tally, violations } from "./history.ts";

const ok = (name: string): Answer => ({ is: "done", status: "ok", stdout: `${name}\n` });
const operation = (name: string, answer = ok(name)) => ({ session: "ses_1", name, answer });
const record = (operation: string, status = "ok") => ({ execution: `exe_${operation}`, operation, status });

const GOOD: SessionHistory = {
  session: "ses_1",
  operations: [operation("a"), operation("b"), operation("c")],
  journal: [record("a"), record("b"), record("c")],
  ledger: ["a", "b", "c"],
};

describe("a history that may be", () => {
  it.each<[string, Partial<SessionHistory>]>([
    ["everything ran once", {}],
    [
      "code was killed before or after it wrote, and its record says so",
      {
        operations: [
          operation("a", { is: "done", status: "died", stdout: "" }),
          operation("b"),
          operation("c"),
        ],
        journal: [record("a", "died"), record("b"), record("c")],
      },
    ],
    [
      "the outcome is unknown, and the code did not run",
      {
        operations: [
          operation("a"),
          operation("b", { is: "done", status: "unknown", stdout: "" }),
          operation("c"),
        ],
        journal: [record("a"), record("b", "unknown"), record("c")],
        ledger: ["a", "c"],
      },
    ],
    [
      "something was refused and left no trace",
      {
        operations: [operation("a"), operation("b", { is: "refused", code: "SESSION_ENDED" })],
        journal: [record("a")],
        ledger: ["a"],
      },
    ],
    [
      "a client gave up, whether it ran or never arrived",
      {
        operations: [operation("a", { is: "unknown" }), operation("b", { is: "unknown" })],
        journal: [record("a")],
        ledger: ["a"],
      },
    ],
    ["the sandbox is gone with its files", { ledger: null }],
  ])("%s", (_, change) => {
    expect(violations({ ...GOOD, ...change })).toEqual([]);
  });
});

describe("a history that must not be", () => {
  it.each<[string, Partial<SessionHistory>, RegExp]>([
    ["code ran twice", { ledger: ["a", "b", "b", "c"] }, /b ran 2 times/],
    ["code ran again later", { ledger: ["a", "b", "c", "a"] }, /a ran 2 times/],
    ["an answer that was ok did not run", { ledger: ["a", "c"] }, /b is on record as ok, and did not run/],
    [
      "an answer has no record",
      { journal: [record("a"), record("c")] },
      /b was answered as ok, and has no record/,
    ],
    [
      "one key has two executions",
      { journal: [record("a"), record("b"), { ...record("b"), execution: "exe_2" }, record("c")] },
      /b has 2 records/,
    ],
    [
      "an execution never ends",
      {
        operations: [operation("a"), operation("b", { is: "unknown" }), operation("c")],
        journal: [record("a"), record("b", "running"), record("c")],
      },
      /b is still running/,
    ],
    [
      "the record changed after it was answered",
      { journal: [record("a"), record("b", "unknown"), record("c")] },
      /b was answered as ok, and is on record as unknown/,
    ],
    [
      "what was refused ran",
      { operations: [operation("a"), operation("b", { is: "refused", code: "QUEUE_FULL" }), operation("c")] },
      /b was refused \(QUEUE_FULL\), and ran/,
    ],
    [
      "what was refused is on record",
      {
        operations: [operation("a"), operation("b", { is: "refused", code: "QUEUE_FULL" }), operation("c")],
        ledger: ["a", "c"],
        journal: [record("a"), record("b", "interrupted"), record("c")],
      },
      /b was refused \(QUEUE_FULL\), and is on record/,
    ],
    [
      "something ran that nobody asked for",
      { ledger: ["a", "b", "c", "x"] },
      /x ran, and nobody asked for it/,
    ],
    [
      "something is on record that nobody asked for",
      { journal: [...GOOD.journal, record("x")] },
      /x is on record, and nobody asked for it/,
    ],
    [
      "something ran and was forgotten",
      {
        operations: [operation("a"), operation("b", { is: "unknown" }), operation("c")],
        journal: [record("a"), record("c")],
      },
      /b ran, and the journal does not know it/,
    ],
    ["they ran in another order", { ledger: ["a", "c", "b"] }, /another order: a,c,b/],
    [
      "an answer is another one's",
      { operations: [operation("a"), operation("b", ok("a")), operation("c")] },
      /b was answered with the output "a\\n"/,
    ],
  ])("%s", (_, change, wanted) => {
    expect(violations({ ...GOOD, ...change }).join("\n")).toMatch(wanted);
  });
});

it("counts what a run has proven", () => {
  const lost = { ...GOOD, operations: [operation("a", { is: "unknown" })], ledger: null };
  expect(tally([GOOD, lost])).toEqual({
    operations: 4,
    ok: 3,
    ended_otherwise: {},
    refused: 0,
    unknown: 1,
    ran: 3,
    ledgers_lost: 1,
  });
});
