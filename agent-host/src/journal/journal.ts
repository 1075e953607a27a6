/**
 * The daemon's memory: what it accepted, what it started, how it ended, until the control plane has it.
 *
 * WAL with synchronous=NORMAL: a commit survives the death of this process, which is the fault that sandboxes outlive.
 * A power cut may take the last commits, but it takes the sandboxes and their executions too.
 *
 * @module
 */
import { rm } from "node:fs/promises";
import path from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import type { Command, Outcome, SessionReport, SessionSpec } from "@sandbar/shared";
import { isDiskFailure } from "../host/disk-failure.ts";
import { hostFolder } from "../host/identity.ts";

/** Executions that the control plane has are remembered so long, so that a repeated `run` never starts twice. */
const REMEMBERED_EXECUTIONS = 10_000;
/** An outcome that nobody wants for so long belongs to a control plane that has forgotten the session. */
const UNWANTED_MS = 7 * 24 * 3600_000;

export type Run = Extract<Command, { type: "run" }>;
export type ContextCommand = Extract<Command, { type: `context.${string}` }>;

export interface SessionRow {
  id: string;
  tenant: string;
  context: string;
  spec: SessionSpec;
  box: string;
  /** The engine's id of what runs in the box; the column of both tables has the name that Docker gives it. */
  sandbox: string | null;
  token: string;
  /** `stopping` is the daemon's own: told to stop, not yet gone. */
  state: SessionReport["state"] | "stopping";
  report: SessionReport;
}

/** Nothing of it runs any more, and nothing will. */
export function hasEnded({ state }: Pick<SessionRow, "state">): boolean {
  return state === "failed" || state === "died" || state === "stopped";
}

/** A box of the warm pool; its row goes in the transaction that gives the box to a session. */
export interface PoolRow {
  box: string;
  key: string;
  sandbox: string | null;
  token: string;
  /** What the box was made from; another daemon may make them otherwise. */
  fingerprint: string;
  /** Its kernel is ready, as far as the daemon that wrote this could see. */
  warm: 0 | 1;
}

/** The first thing the daemon did to end an execution; `start` means that it never began in time. */
export type Asked = "nothing" | "timeout" | "interrupt" | "start" | "restart" | "close" | "stop";

export interface ExecutionRow {
  id: string;
  session: string;
  command: Run;
  /** `ingesting`: it has ended and its outcome stands, but its artifacts are not yet safe. */
  state: "accepted" | "started" | "ingesting" | "finished";
  started_at: number | null;
  deadline: number | null;
  asked: Asked;
  killed: boolean;
  outcome: Outcome | null;
}

/** Of a BIND session; it outlives the session's own row. */
export interface FolderRow {
  session: string;
  box: string;
  /** When nothing used it any more; null before. */
  ended: number | null;
  /** Somebody has asked for its removal. */
  unwanted: boolean;
}

/** How long a write may wait for another to ride with, when losing it costs nothing but a repetition. */
const LATER_MS = 50;

const ENDED = "UPDATE executions SET state = ?, outcome = ?, updated = ? WHERE id = ? AND state <> 'acked'";

type Value = string | number | null;
type Row = Record<string, Value>;

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS sessions (
    id TEXT PRIMARY KEY, tenant TEXT NOT NULL, context TEXT NOT NULL, spec TEXT NOT NULL, box TEXT NOT NULL,
    container TEXT, token TEXT NOT NULL, state TEXT NOT NULL, report TEXT NOT NULL, updated INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS executions (
    id TEXT PRIMARY KEY, n INTEGER NOT NULL, session TEXT NOT NULL, command TEXT NOT NULL, state TEXT NOT NULL,
    started_at INTEGER, deadline INTEGER, asked TEXT NOT NULL DEFAULT 'nothing', killed INTEGER NOT NULL DEFAULT 0,
    outcome TEXT, updated INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS leaving (box TEXT PRIMARY KEY) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS pool (
    box TEXT PRIMARY KEY, key TEXT NOT NULL, container TEXT, token TEXT NOT NULL, fingerprint TEXT NOT NULL,
    warm INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS folders (
    session TEXT PRIMARY KEY, box TEXT NOT NULL, ended INTEGER, unwanted INTEGER NOT NULL DEFAULT 0
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS context_commands (n INTEGER PRIMARY KEY, session TEXT NOT NULL, command TEXT NOT NULL);
`;

export function journalFile(home: string): string {
  return path.join(hostFolder(home), "journal.sqlite");
}

export async function removeJournal(home: string): Promise<void> {
  const file = journalFile(home);
  for (const part of [file, `${file}-wal`, `${file}-shm`]) await rm(part, { force: true });
}

export class Journal {
  readonly #db: DatabaseSync;
  readonly #onBroken: (error: Error) => void;
  readonly #onWritten: (ms: number) => void;
  readonly #statements = new Map<string, StatementSync>();
  /** At most one waiting write per execution. */
  readonly #later = new Map<string, { sql: string; values: Value[]; then: (() => void) | undefined }>();
  #laterTimer: NodeJS.Timeout | null = null;

  /** What cannot be written down cannot be promised: after `onBroken` nothing may go on as if it had been. */
  constructor(
    home: string,
    onBroken: (error: Error) => void = () => {},
    onWritten: (ms: number) => void = () => {},
  ) {
    this.#onBroken = onBroken;
    this.#onWritten = onWritten;
    this.#db = new DatabaseSync(journalFile(home), { timeout: 5000 });
    this.#db.exec(
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = 8388608;",
    );
    this.#db.exec(SCHEMA);
  }

  close(): void {
    this.flush();
    this.#db.close();
  }

  /** Runs `work` and moves the command counter in one transaction: a command is never half accepted. */
  accept(n: number, work: () => void): void {
    this.#transaction(() => {
      work();
      this.#run(
        "INSERT INTO meta VALUES ('last_n', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        n,
      );
    });
  }

  lastN(): number {
    return (this.#get("SELECT value FROM meta WHERE key = 'last_n'")?.value as number | undefined) ?? 0;
  }

  /** Undefined before the first. */
  epoch(): number | undefined {
    return this.#get("SELECT value FROM meta WHERE key = 'epoch'")?.value as number | undefined;
  }

  /** Before the first command of this welcome is accepted: its number counts from here on. */
  welcomed(epoch: number): void {
    this.#run(
      "INSERT INTO meta VALUES ('epoch', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
      epoch,
    );
  }

  addSession(row: SessionRow): void {
    this.#run(
      "INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      row.id,
      row.tenant,
      row.context,
      JSON.stringify(row.spec),
      row.box,
      row.sandbox,
      row.token,
      row.state,
      JSON.stringify(row.report),
      Date.now(),
    );
  }

  saveSession(row: SessionRow): void {
    this.#run(
      "UPDATE sessions SET box = ?, container = ?, token = ?, state = ?, report = ?, updated = ? WHERE id = ?",
      row.box,
      row.sandbox,
      row.token,
      row.state,
      JSON.stringify(row.report),
      Date.now(),
      row.id,
    );
  }

  saveSpec({ id, spec }: SessionRow): void {
    this.#run("UPDATE sessions SET spec = ? WHERE id = ?", JSON.stringify(spec), id);
  }

  forgetSession(id: string): void {
    this.#run("DELETE FROM sessions WHERE id = ?", id);
    this.#run("DELETE FROM context_commands WHERE session = ?", id);
  }

  sessions(): SessionRow[] {
    return this.#all("SELECT * FROM sessions").map((row) => ({
      ...renamed<SessionRow>(row),
      spec: JSON.parse(row.spec as string),
      report: JSON.parse(row.report as string),
    }));
  }

  addLeavingBox(box: string): void {
    this.#run("INSERT OR IGNORE INTO leaving VALUES (?)", box);
  }

  forgetLeavingBox(box: string): void {
    this.#run("DELETE FROM leaving WHERE box = ?", box);
  }

  leavingBoxes(): string[] {
    return this.#all("SELECT box FROM leaving").map((row) => row.box as string);
  }

  addFolder(session: string, box: string): void {
    this.#run("INSERT OR IGNORE INTO folders (session, box) VALUES (?, ?)", session, box);
  }

  folderEnded(session: string, at: number): void {
    this.#run("UPDATE folders SET ended = ? WHERE session = ? AND ended IS NULL", at, session);
  }

  folderUnwanted(session: string): void {
    this.#run("UPDATE folders SET unwanted = 1 WHERE session = ?", session);
  }

  forgetFolder(session: string): void {
    this.#run("DELETE FROM folders WHERE session = ?", session);
  }

  folder(session: string): FolderRow | null {
    const row = this.#get("SELECT * FROM folders WHERE session = ?", session);
    return row ? folderOf(row) : null;
  }

  folders(): FolderRow[] {
    return this.#all("SELECT * FROM folders").map(folderOf);
  }

  savePoolBox(row: PoolRow): void {
    this.#run(
      "INSERT OR REPLACE INTO pool VALUES (?, ?, ?, ?, ?, ?)",
      row.box,
      row.key,
      row.sandbox,
      row.token,
      row.fingerprint,
      row.warm,
    );
  }

  forgetPoolBox(box: string): void {
    this.#run("DELETE FROM pool WHERE box = ?", box);
  }

  poolBoxes(): PoolRow[] {
    return this.#all("SELECT * FROM pool").map((row) => renamed<PoolRow>(row));
  }

  /** False when the execution is known already. */
  addExecution(n: number, session: string, command: Run): boolean {
    return (
      this.#run(
        "INSERT OR IGNORE INTO executions (id, n, session, command, state, updated) VALUES (?, ?, ?, ?, 'accepted', ?)",
        command.execution,
        n,
        session,
        JSON.stringify(command),
        Date.now(),
      ) > 0
    );
  }

  /** Written a little later: a short cell is over by then, and the guest knows that it started. */
  executionStarted(id: string, startedAt: number, deadline: number): void {
    const sql =
      "UPDATE executions SET state = 'started', started_at = ?, deadline = ? WHERE id = ? AND state = 'accepted'";
    this.#writeSoon(id, sql, [startedAt, deadline, id]);
  }

  executionAsked(id: string, asked: Asked, killed: boolean): void {
    this.#run("UPDATE executions SET asked = ?, killed = ? WHERE id = ?", asked, killed ? 1 : 0, id);
  }

  executionInterrupted(id: string): void {
    this.#run(
      "UPDATE executions SET asked = 'interrupt' WHERE id = ? AND asked = 'nothing' AND outcome IS NULL",
      id,
    );
  }

  executionIngesting(id: string, outcome: Outcome): void {
    this.#executionEnded(id, "ingesting", outcome);
  }

  executionFinished(id: string, outcome: Outcome): void {
    this.#executionEnded(id, "finished", outcome);
  }

  /** Written a little later: until it is `acked` the guest knows how it ended, and would say so again. */
  executionDone(id: string, outcome: Outcome): void {
    this.#writeSoon(id, ENDED, ["finished", JSON.stringify(outcome), Date.now(), id]);
  }

  /** Written a little later: until then the outcome would only be reported once more. Nobody may forget it before `then`. */
  executionAcked(id: string, then?: () => void): void {
    const sql =
      "UPDATE executions SET state = 'acked', command = '', outcome = NULL, updated = ? WHERE id = ?";
    this.#writeSoon(id, sql, [Date.now(), id], then);
  }

  /** Everything the control plane does not have in full yet, oldest first. */
  executions(): ExecutionRow[] {
    this.flush();
    return this.#all("SELECT * FROM executions WHERE state <> 'acked' ORDER BY n").map((row) => ({
      ...(row as unknown as ExecutionRow),
      command: JSON.parse(row.command as string),
      killed: row.killed === 1,
      outcome: row.outcome ? JSON.parse(row.outcome as string) : null,
    }));
  }

  addContextCommand(n: number, session: string, command: ContextCommand): void {
    this.#run("INSERT OR IGNORE INTO context_commands VALUES (?, ?, ?)", n, session, JSON.stringify(command));
  }

  contextCommandSent(n: number): void {
    this.#run("DELETE FROM context_commands WHERE n = ?", n);
  }

  contextCommands(session: string): { n: number; command: ContextCommand }[] {
    return this.#all("SELECT n, command FROM context_commands WHERE session = ? ORDER BY n", session).map(
      (row) => ({
        n: row.n as number,
        command: JSON.parse(row.command as string),
      }),
    );
  }

  prune(): void {
    this.flush();
    this.#run(
      `DELETE FROM executions WHERE state = 'acked' AND n <=
        (SELECT n FROM executions WHERE state = 'acked' ORDER BY n DESC LIMIT 1 OFFSET ?)`,
      REMEMBERED_EXECUTIONS,
    );
    const unwanted = Date.now() - UNWANTED_MS;
    this.#run("DELETE FROM executions WHERE state = 'finished' AND updated < ?", unwanted);
    this.#run("DELETE FROM sessions WHERE state IN ('failed', 'died', 'stopped') AND updated < ?", unwanted);
  }

  #executionEnded(id: string, state: ExecutionRow["state"], outcome: Outcome): void {
    this.#later.delete(id);
    this.#run(ENDED, state, JSON.stringify(outcome), Date.now(), id);
  }

  #writeSoon(id: string, sql: string, values: Value[], then?: () => void): void {
    this.#later.set(id, { sql, values, then });
    this.#laterTimer ??= setTimeout(() => {
      this.#laterTimer = null;
      this.flush();
    }, LATER_MS);
  }

  /** Writes what waits. */
  flush(): void {
    if (this.#later.size) this.#transaction(() => {});
  }

  /** With what waits to be written, since that is nearly for nothing here. */
  #transaction(work: () => void): void {
    const later = [...this.#later];
    this.#later.clear();
    this.#run("BEGIN IMMEDIATE");
    try {
      for (const [, { sql, values }] of later) this.#run(sql, ...values);
      work();
      this.#run("COMMIT");
    } catch (error) {
      // A full disk has rolled it back already.
      if (this.#db.isTransaction) this.#run("ROLLBACK");
      for (const [id, write] of later) if (!this.#later.has(id)) this.#later.set(id, write);
      throw error;
    }
    for (const [, { then }] of later) then?.();
  }

  #statement(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (!statement) {
      statement = this.#db.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  #run(sql: string, ...values: Value[]): number {
    const began = performance.now();
    try {
      const { changes } = this.#statement(sql).run(...values);
      this.#onWritten(performance.now() - began);
      return Number(changes);
    } catch (error) {
      if (isDiskFailure(error)) this.#onBroken(error);
      throw error;
    }
  }

  #get(sql: string, ...values: Value[]): Row | undefined {
    return this.#statement(sql).get(...values) as Row | undefined;
  }

  #all(sql: string, ...values: Value[]): Row[] {
    return this.#statement(sql).all(...values) as Row[];
  }
}

function folderOf(row: Row): FolderRow {
  return { ...(row as unknown as FolderRow), unwanted: row.unwanted === 1 };
}

function renamed<T>({ container, ...row }: Row): T {
  return { ...row, sandbox: container } as T;
}
