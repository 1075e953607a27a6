/**
 * Every session of this host. Commands are written to the journal first and acted upon after, each in its own session,
 * so that a slow creation holds up nobody else.
 *
 * @module
 */
import { randomBytes } from "node:crypto";
import { type Command, newId, SandbarError, type ServerFrame, type SessionReport } from "@sandbar/shared";
import { outcomeOfBoxDeath } from "../execution/outcome.ts";
import { diskRefusal } from "../host/free-disk.ts";
import type { ExecutionRow, Run, SessionRow } from "../journal/journal.ts";
import type { Pool } from "../pool/pool.ts";
import { Session } from "./session.ts";
import type { SessionAccess } from "./session-access.ts";
import type { SessionParts } from "./session-parts.ts";

/** Ids become folder names. */
const SAFE_ID = /^[A-Za-z0-9_-]{1,64}$/;

type Create = Extract<Command, { type: "session.create" }>;

export interface SessionsParts extends SessionParts {
  readonly pool: Pool;
}

export class Sessions {
  readonly #parts: SessionsParts;
  readonly #sessions = new Map<string, Session>();

  constructor(parts: SessionsParts) {
    this.#parts = parts;
  }

  all(): Session[] {
    return [...this.#sessions.values()];
  }

  get live(): number {
    return this.all().filter((session) => !session.terminal).length;
  }

  get starting(): number {
    return this.all().filter((session) => session.row.state === "creating").length;
  }

  /** Those that are ready, for whoever looks at what they use. */
  running(): SessionAccess[] {
    return this.all().flatMap(({ row, access }) => (row.state === "ready" ? [access] : []));
  }

  get(id: string): Session | undefined {
    return this.#sessions.get(id);
  }

  /** A session that an earlier daemon left in the journal. */
  restore(row: SessionRow, executions: ExecutionRow[]): Session {
    const session = new Session(row, this.#parts, executions);
    this.#sessions.set(row.id, session);
    return session;
  }

  /** Journals the command; what it sets in motion is not waited for. */
  accept(n: number, id: string, command: Command): void {
    let act: () => void = () => {};
    this.#parts.journal.accept(n, () => {
      act = this.#record(n, id, command);
    });
    act();
  }

  /** A command that this version cannot read must not hold up all that come after it. */
  skip(n: number): void {
    this.#parts.journal.accept(n, () => {});
  }

  #record(n: number, id: string, command: Command): () => void {
    const { journal } = this.#parts;
    const session = this.#sessions.get(id);
    switch (command.type) {
      case "session.create":
        return session ? () => session.tell() : this.#recordCreate(id, command);
      case "session.stop": {
        if (!session) return () => this.#send(id, { state: "stopped" });
        if (!session.terminal) {
          session.row.state = "stopping";
          journal.saveSession(session.row);
        }
        return () => void session.stop(command.reason);
      }
      case "session.network":
        if (!session?.row.spec.rules) return () => {};
        session.row.spec = { ...session.row.spec, rules: command.rules };
        journal.saveSpec(session.row);
        return () => session.setRules(command.rules);
      case "run":
        return this.#recordRun(n, id, session, command);
      case "interrupt":
        journal.executionInterrupted(command.execution);
        return () => session?.executions.get(command.execution)?.end("interrupt");
      default:
        if (!session) return () => {};
        journal.addContextCommand(n, id, command);
        return () => session.executions.onContextCommand();
    }
  }

  #recordCreate(id: string, command: Create): () => void {
    const row: SessionRow = {
      id,
      tenant: command.tenant,
      context: command.context,
      spec: command.spec,
      box: newId("box"),
      sandbox: null,
      token: randomBytes(32).toString("base64url"),
      state: "creating",
      report: { state: "creating" },
    };
    const refusal = this.#refusal(id);
    if (refusal) {
      row.state = "failed";
      row.report = { state: "failed", failure: refusal.failure };
    }
    // The box is bound to the session in this one transaction, before anything of the session reaches it.
    const pooled = refusal ? null : this.#parts.pool.take(command.context, command.spec);
    if (pooled) {
      row.box = pooled.row.box;
      row.sandbox = pooled.row.sandbox;
      row.token = pooled.row.token;
    }
    this.#parts.journal.addSession(row);
    if (row.spec.storage === "BIND" && !refusal) this.#parts.journal.addFolder(id, row.box);
    return () => {
      const session = new Session(row, this.#parts, [], command.cause);
      this.#sessions.set(id, session);
      if (refusal) session.tell();
      else session.create(pooled);
    };
  }

  #refusal(id: string): SandbarError | null {
    if (!SAFE_ID.test(id))
      return new SandbarError("SESSION_START_FAILED", "the session's id cannot be a folder's name");
    if (this.live >= this.#parts.config.maxSessions)
      return new SandbarError(
        "NO_HOST_AVAILABLE",
        `this host has its ${this.#parts.config.maxSessions} sessions`,
      );
    const diskIsFull = diskRefusal(this.#parts.config);
    if (diskIsFull) return new SandbarError("NO_HOST_AVAILABLE", diskIsFull);
    return null;
  }

  #recordRun(n: number, id: string, session: Session | undefined, command: Run): () => void {
    const { journal } = this.#parts;
    if (!journal.addExecution(n, id, command)) return () => {};
    const row: ExecutionRow = {
      id: command.execution,
      session: id,
      command,
      state: "accepted",
      started_at: null,
      deadline: null,
      asked: "nothing",
      killed: false,
      outcome: null,
    };
    if (session && !session.terminal && session.row.state !== "stopping") return () => session.run(row);
    return () =>
      this.settleWithoutBox(row, "this host does not have the session", session?.row.state === "stopping");
  }

  /** For an execution whose sandbox is gone: its outcome is only reported. */
  settleWithoutBox(row: ExecutionRow, reason: string, stopped: boolean): void {
    const { journal, settled, watchers } = this.#parts;
    if (!row.outcome) {
      const storage = this.#sessions.get(row.session)?.row.spec.storage ?? "TMPFS";
      row.outcome = outcomeOfBoxDeath(reason, {
        asked: stopped ? "stop" : row.asked,
        killed: row.killed,
        timeoutMs: row.command.timeout_ms,
        storage,
        startedAt: row.started_at,
        finishedAt: Date.now(),
      });
      journal.executionFinished(row.id, row.outcome);
      watchers.figures.ended(row.outcome);
    }
    settled.add(row.session, row.id, row.outcome);
    settled.report(row.id);
  }

  inventory(brief: boolean): { session: string; report: SessionReport }[] {
    return this.all().map((session) => session.inventory(brief));
  }

  onWelcome(): void {
    // Outcomes first: what a stopped session leaves behind must be known before its end is.
    this.#parts.settled.onWelcome();
    for (const session of this.#sessions.values()) session.onWelcome();
  }

  onAck({ session, execution, seq, final }: Extract<ServerFrame, { t: "ack" }>): void {
    if (!this.#sessions.get(session)?.executions.onAck(execution, seq, final))
      this.#parts.settled.onAck(execution, final);
  }

  onResend({ session, execution, seq }: Extract<ServerFrame, { t: "resend" }>): void {
    if (!this.#sessions.get(session)?.executions.onResend(execution, seq))
      this.#parts.settled.onResend(execution);
  }

  onSessionAck({ session: id, state }: Extract<ServerFrame, { t: "session.ack" }>): void {
    const session = this.#sessions.get(id);
    if (!session?.terminal || session.row.state !== state) return;
    this.#sessions.delete(id);
    this.#parts.journal.forgetSession(id);
  }

  onSandboxDeath(sandbox: string): void {
    for (const session of this.#sessions.values())
      if (session.sandbox === sandbox && !session.terminal) void this.#confirmDeath(session, sandbox);
  }

  /** Looks at every sandbox: for the times when deaths could not be heard of. */
  async checkAll(): Promise<void> {
    for (const session of this.all())
      if (session.sandbox && !session.terminal) await this.#confirmDeath(session, session.sandbox);
  }

  async #confirmDeath(session: Session, sandbox: string): Promise<void> {
    try {
      const reason = await this.#parts.engine.deathOf(sandbox);
      // Meanwhile it may have got another one.
      if (reason && session.sandbox === sandbox) session.died(reason);
    } catch (error) {
      this.#parts.log.warn({ err: error, sandbox }, "could not look at a sandbox");
    }
  }

  #send(id: string, report: SessionReport): void {
    this.#parts.link.send({ t: "session", session: id, report });
  }
}
