/**
 * Which datasets each session has, in the daemon's journal. Kept in memory too, so that an execution of a session without
 * datasets costs nothing.
 *
 * @module
 */
import { DatabaseSync } from "node:sqlite";
import { DATASET_FOLDER, type Dataset } from "@sandbar/shared";
import { isoTime } from "../io/iso-time.ts";
import { journalFile } from "../journal/journal.ts";

export interface DatasetRow {
  session: string;
  /** Below /session/data; two ids of one file are one dataset. */
  file: string;
  id: string;
  status: Dataset["status"];
  origin: string;
  size: number | null;
  sha256: string | null;
  version: string | null;
  mtime_ns: string | null;
  error: Dataset["error"] | null;
}

export class DatasetJournal {
  readonly #db: DatabaseSync;
  readonly #sessions = new Map<string, Map<string, DatasetRow>>();

  constructor(home: string) {
    this.#db = new DatabaseSync(journalFile(home), { timeout: 5000 });
    this.#db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
      CREATE TABLE IF NOT EXISTS datasets (
        session TEXT NOT NULL, file TEXT NOT NULL, row TEXT NOT NULL, PRIMARY KEY (session, file)
      ) WITHOUT ROWID;`);
    this.prune();
    for (const { row } of this.#db.prepare("SELECT row FROM datasets").all())
      this.#keep(interrupted(JSON.parse(row as string)));
  }

  of(session: string): DatasetRow[] {
    return [...(this.#sessions.get(session)?.values() ?? [])];
  }

  find(session: string, file: string): DatasetRow | undefined {
    return this.#sessions.get(session)?.get(file);
  }

  save(row: DatasetRow): void {
    this.#keep(row);
    this.#db
      .prepare("INSERT OR REPLACE INTO datasets VALUES (?, ?, ?)")
      .run(row.session, row.file, JSON.stringify(row));
  }

  /** On its way. What was loaded before stays written down as it is until it has been replaced. */
  begin(row: DatasetRow, had: DatasetRow | undefined): void {
    if (had?.status === "LOADED") this.#keep(row);
    else this.save(row);
  }

  remove({ session, file }: DatasetRow): void {
    this.#sessions.get(session)?.delete(file);
    this.#db.prepare("DELETE FROM datasets WHERE session = ? AND file = ?").run(session, file);
  }

  /** Sessions that the journal has forgotten take their datasets along. */
  prune(): void {
    this.#db.exec("DELETE FROM datasets WHERE session NOT IN (SELECT id FROM sessions)");
    const known = new Set(
      this.#db
        .prepare("SELECT id FROM sessions")
        .all()
        .map(({ id }) => id as string),
    );
    for (const session of this.#sessions.keys()) if (!known.has(session)) this.#sessions.delete(session);
  }

  close(): void {
    this.#db.close();
  }

  #keep(row: DatasetRow): void {
    const own = this.#sessions.get(row.session) ?? new Map<string, DatasetRow>();
    this.#sessions.set(row.session, own.set(row.file, row));
  }
}

/** An earlier daemon was at it. */
function interrupted(row: DatasetRow): DatasetRow {
  if (row.status !== "PENDING") return row;
  const detail = "the daemon was restarted meanwhile; stage it again";
  return { ...row, status: "FAILED", error: { code: "DATASET_FAILED", detail } };
}

export function described({ id, status, file, size, sha256, version, mtime_ns, error }: DatasetRow): Dataset {
  return {
    id,
    status,
    path: `${DATASET_FOLDER}/${file}`,
    size,
    sha256,
    version,
    mtime: mtime_ns && isoTime(mtime_ns),
    ...(error ? { error } : {}),
  };
}
