import { runInDurableObject } from "cloudflare:test";
import type { KernelEvent } from "@sandbar/shared";
import { expect, it } from "vitest";
import { BIG_TEXT_SCHEMA } from "../../worker/src/session/big-text.ts";
import { finishedExecution } from "../../worker/src/session/execution-record.ts";
import { JOURNAL_SCHEMA, Journal } from "../../worker/src/session/journal.ts";
import { bindings } from "./client.ts";
import { outcome } from "./fake-daemon.ts";

let objects = 0;

/** A journal in the storage of an object that has no session. */
function inJournal(use: (journal: Journal, sql: SqlStorage) => void): Promise<void> {
  return runInDurableObject(bindings.SESSIONS.getByName(`journal/${++objects}`), (_, ctx) => {
    const { sql } = ctx.storage;
    for (const statement of [...JOURNAL_SCHEMA, BIG_TEXT_SCHEMA]) sql.exec(statement);
    use(new Journal(sql), sql);
  });
}

function insert(journal: Journal, id: string, key: string | null = null, code = "1"): boolean {
  const row = {
    id,
    context: "python",
    language: "python" as const,
    state: "sent" as const,
    digest: "d",
    queued_at: 1,
    created_by: null,
  };
  return journal.insert(row, key, { code });
}

function finish(journal: Journal, id: string, text = "x"): void {
  const events: KernelEvent[] = [{ type: "stdout", seq: 1, text }];
  const row = journal.append(journal.find(id)!, events, 2);
  journal.finish(row, finishedExecution({ ...row, session_id: "ses" }, events, outcome({ last_seq: 1 })));
}

const count = (sql: SqlStorage, table: string) =>
  sql.exec<{ n: number }>(`SELECT count(*) AS n FROM ${table}`).one().n;

it("takes an id and an idempotency key once", () =>
  inJournal((journal) => {
    expect(insert(journal, "a", "k")).toBe(true);
    expect(insert(journal, "a")).toBe(false);
    expect(insert(journal, "b", "k")).toBe(false);
    expect(journal.findByKey("k")?.id).toBe("a");
    expect(journal.open().map(({ id }) => id)).toEqual(["a"]);
  }));

it("remembers everything that is open or done when it is opened again", () =>
  inJournal((journal, sql) => {
    insert(journal, "done");
    finish(journal, "done", "hello");
    insert(journal, "open", null, "é".repeat(900_000));
    const row = journal.append(journal.find("open")!, [{ type: "stdout", seq: 1, text: "so far" }], 2);
    journal.saveProgress(row);
    const again = new Journal(sql);
    expect(again.open()).toEqual(journal.open());
    expect(again.find("open")).toMatchObject({ last_seq: 1, position: 1, started_at: 2, state: "sent" });
    expect(again.request("open").code).toHaveLength(900_000);
    expect([...again.events("open")]).toEqual([{ type: "stdout", seq: 1, text: "so far" }]);
    expect(again.record("done")).toEqual(journal.record("done"));
    expect(again.record("open")).toBeNull();
  }));

it("tells what ran while it is open, and afterwards unless it was long", () =>
  inJournal((journal, sql) => {
    for (const [id, code] of [
      ["short", "print(1)"],
      ["long", "x".repeat(40_000)],
      ["huge", "é".repeat(900_000)],
    ] as const) {
      insert(journal, id, null, code);
      expect(journal.code(id)).toBe(code);
      finish(journal, id);
    }
    const again = new Journal(sql);
    expect(["short", "long", "huge"].map((id) => again.code(id))).toEqual(["print(1)", null, null]);
  }));

it("keeps the newest logs within their bounds, and their records beyond them", () =>
  inJournal((journal, sql) => {
    for (let i = 0; i < 10; i++) {
      insert(journal, `e${i}`);
      finish(journal, `e${i}`, i === 3 ? "y".repeat(900_000) : `text ${i}`);
    }
    insert(journal, "open");
    journal.prune({ logBytes: 1e9, logs: 4, records: 8 });
    const again = new Journal(sql);
    expect(again.batchAfter("e6", 0)).not.toBeNull();
    expect(again.batchAfter("e5", 0)).toBeNull();
    expect(again.record("e2")).toMatchObject({ stdout: "text 2" });
    expect(again.record("e1")).toBeNull();
    expect(again.find("open")).not.toBeNull();
    expect(count(sql, "events")).toBe(4);
    expect(count(sql, "big_text")).toBe(0);
    journal.prune({ logBytes: 1, logs: 1_000, records: 1_000 });
    expect(count(sql, "events")).toBe(0);
  }));

it("leaves nothing of an execution that it took back", () =>
  inJournal((journal, sql) => {
    insert(journal, "a", "k", "é".repeat(900_000));
    journal.remove("a");
    expect([count(sql, "executions"), count(sql, "big_text")]).toEqual([0, 0]);
    expect(insert(journal, "b", "k")).toBe(true);
  }));
