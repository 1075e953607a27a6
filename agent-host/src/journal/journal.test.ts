import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Journal, type Run } from "./journal.ts";

const RUN: Run = {
  type: "run",
  execution: "exe_1",
  context: "main",
  language: "python",
  code: "1",
  env: {},
  stdin: null,
  timeout_ms: 1000,
};

let home: string;
let journal: Journal;
beforeEach(() => {
  home = mkdtempSync(path.join(tmpdir(), "sandbar-journal-"));
  journal = new Journal(home);
});
afterEach(() => {
  journal.close();
  rmSync(home, { recursive: true, force: true });
});

describe("the journal", () => {
  it("accepts a command whole or not at all", () => {
    journal.accept(1, () => journal.addExecution(1, "ses_1", RUN));
    expect(() =>
      journal.accept(2, () => {
        journal.addExecution(1, "ses_1", { ...RUN, execution: "exe_2" });
        throw new Error("disk full");
      }),
    ).toThrow("disk full");
    expect(journal.lastN()).toBe(1);
    expect(journal.epoch()).toBeUndefined();
    journal.welcomed(3);
    journal.welcomed(4);
    expect(journal.epoch()).toBe(4);
    expect(journal.executions().map((row) => row.id)).toEqual(["exe_1"]);
  });

  it("remembers an execution after the control plane has it, so that it never starts twice", () => {
    expect(journal.addExecution(1, "ses_1", RUN)).toBe(true);
    journal.executionAcked("exe_1");
    expect(journal.executions()).toEqual([]);
    expect(journal.addExecution(1, "ses_1", RUN)).toBe(false);
    journal.prune();
    expect(journal.addExecution(1, "ses_1", RUN)).toBe(false);
  });

  it("forgets the oldest of very many", () => {
    for (let i = 0; i < 10_010; i++) {
      journal.addExecution(i, "ses_1", { ...RUN, execution: `exe_${i}` });
      journal.executionAcked(`exe_${i}`);
    }
    journal.prune();
    expect(journal.addExecution(1, "ses_1", { ...RUN, execution: "exe_0" })).toBe(true);
    expect(journal.addExecution(1, "ses_1", { ...RUN, execution: "exe_10009" })).toBe(false);
  });
});
