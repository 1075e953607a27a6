/** @module Texts larger than a SQLite row may be, in parts. */

/** At three bytes a character this stays well below the limit of 2 MB a row. */
const PART_CHARS = 400_000;

export const BIG_TEXT_SCHEMA =
  "CREATE TABLE big_text (owner TEXT NOT NULL, part INTEGER NOT NULL, text TEXT NOT NULL, PRIMARY KEY (owner, part))";

export const isBig = (text: { length: number }) => text.length > PART_CHARS;

/** The text itself when it fits into its row, else null after its parts were written. */
export function saveText(sql: SqlStorage, owner: string, text: string): string | null {
  if (!isBig(text)) return text;
  sql.exec("DELETE FROM big_text WHERE owner = ?", owner);
  let part = 0;
  for (let at = 0; at < text.length; ) {
    let end = Math.min(at + PART_CHARS, text.length);
    // SQLite stores UTF-8, which cannot hold half a surrogate pair.
    const last = text.charCodeAt(end - 1);
    if (end < text.length && last >= 0xd800 && last <= 0xdbff) end--;
    sql.exec("INSERT INTO big_text VALUES (?, ?, ?)", owner, part++, text.slice(at, end));
    at = end;
  }
  return null;
}

export function loadText(sql: SqlStorage, owner: string, inline: string | null): string {
  if (inline !== null) return inline;
  let text = "";
  for (const row of sql.exec<{ text: string }>(
    "SELECT text FROM big_text WHERE owner = ? ORDER BY part",
    owner,
  ))
    text += row.text;
  return text;
}
