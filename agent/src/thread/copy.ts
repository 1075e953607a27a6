/** @module A thread's state for another thread: checkpoints, and the pictures that they name. Runs stay behind. */
import { imagesPath } from "./images.ts";

type Value = string | number | null;
type Row = Record<string, Value>;

export type ThreadCopy = Record<(typeof TABLES)[number], Row[]>;

const TABLES = ["checkpoints", "writes", "images", "big_text"] as const;

export function copyRows(sql: SqlStorage): ThreadCopy {
  const rows = (table: string, where = "1") =>
    sql.exec<Row>(`SELECT * FROM ${table} WHERE ${where}`).toArray();
  return {
    checkpoints: rows("checkpoints"),
    writes: rows("writes"),
    images: rows("images"),
    big_text: rows("big_text", "owner NOT LIKE 'event/%'"),
  };
}

/** Links to pictures lead to the thread that has them. */
export function takeRows(sql: SqlStorage, copy: ThreadCopy, from: string, to: string): void {
  const [before, after] = [imagesPath(from), imagesPath(to)];
  for (const table of TABLES)
    for (const row of copy[table]) {
      const own: Row = table === "checkpoints" ? { ...row, run_id: null } : row;
      const values = Object.values(own).map((value) =>
        typeof value === "string" ? value.replaceAll(before, after) : value,
      );
      const marks = values.map(() => "?").join(", ");
      sql.exec(`INSERT OR REPLACE INTO ${table} VALUES (${marks})`, ...values);
    }
}
