/**
 * What happened in this session, for the tenant's object. It is collected in memory and told in one call a moment later,
 * so an execution waits for nothing and writes nothing more. A reset in between loses nothing for good: the journal has
 * it, and the tenant's object says what of it was told.
 *
 * @module
 */
import {
  type Artifact,
  cut,
  EVENT_CODE_CHARS,
  type Execution,
  type ExecutionNews,
  errorCode,
  type Failure,
  newId,
} from "@sandbar/shared";
import type { Env } from "../env.ts";
import { tenantObject } from "../rpc.ts";
import type { SessionBatch, SessionNews } from "../tenant/session-batch.ts";
import type { ExecutionRow, Journal } from "./journal.ts";
import { hasEnded } from "./machine.ts";
import { describe, type Records } from "./record.ts";

const PAUSE_MS = 400;
const AGAIN_MS = 5_000;
/** More than this is not held; it is read from the journal again. */
const WAITING_LIMIT = 5_000;
/** Executions of one call that are read from the journal. */
const CATCH_UP_LIMIT = 200;
/** A session that is younger than this and unknown has told nothing yet; an older one is of an earlier version. */
const YOUNG_MS = 600_000;

export class News {
  readonly #env: Env;
  readonly #records: Records;
  readonly #journal: Journal;
  readonly #teller = newId("req");
  #n = 0;
  /** In the order in which it happened. */
  #waiting: SessionNews[] = [];
  /** Of those that were accepted and have not ended. */
  readonly #code = new Map<string, string>();
  #told: string | null = null;
  /** Whether the tenant's object is known to have all that is not waiting. */
  #inStep: boolean;
  #unsent: SessionBatch | null = null;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #telling = false;

  constructor(env: Env, records: Records, journal: Journal) {
    this.#env = env;
    this.#records = records;
    this.#journal = journal;
    const { session } = records;
    // All that happens to a session which is yet to be made is heard here.
    this.#inStep = session === null;
    if (session && !(hasEnded(session.state) && session.told)) this.#tellIn(PAUSE_MS);
  }

  /** The session's state. */
  changed(): void {
    this.#tellIn(PAUSE_MS);
  }

  accepted(execution: string, code: string): void {
    this.#code.set(execution, cut(code, EVENT_CODE_CHARS));
  }

  refused(execution: string): void {
    this.#code.delete(execution);
  }

  /** The execution waits in its queue, or runs; what is held in memory has no number yet and is told later. */
  began(execution: string): void {
    const row = this.#journal.findOpen(execution);
    if (row && row.ordinal !== Number.MAX_SAFE_INTEGER)
      this.#add({ type: "execution", data: this.#open(row) });
  }

  ended(record: Execution): void {
    for (const data of record.artifacts) this.#add({ type: "artifact", data });
    this.#add({ type: "execution", data: this.#ended(record) });
    this.#code.delete(record.id);
  }

  artifacts(artifacts: readonly Artifact[]): void {
    for (const data of artifacts) this.#add({ type: "artifact", data });
  }

  /** The creation was refused, and soon there is no trace of it; who has heard of it hears that, too. */
  withdrawn(error: Failure): void {
    if (this.#told === null && !this.#telling) {
      this.#waiting = [];
      return;
    }
    const data = { ...this.#session(), status: "failed" as const, expires_at: null, error };
    void this.#send(this.#batch([{ type: "session", data }], "failed")).catch(() => {});
  }

  #add(item: SessionNews): void {
    if (this.#waiting.push(item) > WAITING_LIMIT) {
      this.#waiting = [];
      this.#inStep = false;
    }
    this.#tellIn(PAUSE_MS);
  }

  #tellIn(ms: number): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      void this.#tell();
    }, ms);
  }

  async #tell(): Promise<void> {
    if (this.#telling || !this.#records.session) return;
    this.#telling = true;
    try {
      if (this.#unsent) await this.#send(this.#unsent);
      if (!this.#inStep) await this.#catchUp();
      if (this.#records.session && this.#hasNews()) await this.#send(this.#next());
    } catch (error) {
      console.error("tenant not told yet", this.#records.session?.id, error);
      this.#tellIn(AGAIN_MS);
    } finally {
      this.#telling = false;
    }
    const { session } = this.#records;
    if (!session) return;
    if (this.#hasNews() || !this.#inStep) this.#tellIn(PAUSE_MS);
    else if (hasEnded(session.state) && !session.told) this.#records.update({ told: true });
  }

  #hasNews(): boolean {
    return this.#waiting.length > 0 || this.#session().status !== this.#told;
  }

  #next(): SessionBatch {
    const news = withoutRepetition(this.#waiting.splice(0));
    const session = this.#session();
    if (session.status !== this.#told) news.push({ type: "session", data: session });
    return this.#batch(news, session.status);
  }

  #batch(
    news: SessionNews[],
    status: SessionBatch["status"],
    ordinal = this.#journal.lastOrdinal(),
  ): SessionBatch {
    const { id, created_at } = this.#records.session!;
    const open = this.#journal.openWritten();
    return { session: id, created_at, status, teller: this.#teller, n: ++this.#n, ordinal, open, news };
  }

  async #send(batch: SessionBatch): Promise<void> {
    this.#unsent = batch;
    await tenantObject(this.#env, this.#records.session!.tenant).tell(batch);
    this.#unsent = null;
    this.#told = batch.status;
  }

  /** Tells what the journal has and the tenant's object has not heard. */
  async #catchUp(): Promise<void> {
    const { id, tenant, created_at } = this.#records.session!;
    const known = await tenantObject(this.#env, tenant).known(id);
    if (!this.#records.session) return;
    this.#told = known?.status ?? null;
    const young = Date.now() - created_at < YOUNG_MS;
    let after = known?.ordinal ?? (young ? 0 : this.#journal.lastOrdinal());
    let missed = (known?.open ?? []).flatMap((open) => this.#journal.find(open) ?? []);
    for (;;) {
      const rows = this.#journal.writtenAfter(after, CATCH_UP_LIMIT);
      const news = this.#ofJournal([...missed, ...rows]);
      missed = [];
      after = rows.at(-1)?.ordinal ?? after;
      if (rows.length < CATCH_UP_LIMIT) {
        this.#waiting.unshift(...news);
        break;
      }
      await this.#send(this.#batch(news, this.#session().status, after));
      if (!this.#records.session) return;
    }
    this.#inStep = true;
  }

  /** The journal's word takes the place of what waits about the same executions. */
  #ofJournal(rows: readonly ExecutionRow[]): SessionNews[] {
    const told = new Map(rows.map((row) => [row.id, row]));
    this.#waiting = this.#waiting.filter((item) => !told.has(executionOf(item) ?? ""));
    return [...told.values()].flatMap((row): SessionNews[] => {
      if (row.state !== "done") return [{ type: "execution", data: this.#open(row) }];
      const record = this.#journal.record(row.id);
      if (!record) return [];
      const artifacts = record.artifacts.map((data): SessionNews => ({ type: "artifact", data }));
      return [...artifacts, { type: "execution", data: this.#ended(record) }];
    });
  }

  #session() {
    return describe(this.#records.session!, this.#records.activity, this.#journal.hasOpen());
  }

  #open(row: ExecutionRow): ExecutionNews {
    return {
      session: this.#records.session!.id,
      execution: row.id,
      context: row.context,
      language: row.language,
      state: "started",
      status: row.state === "queued" ? "queued" : "running",
      error_code: null,
      code: this.#codeOf(row.id),
      created_at: new Date(row.queued_at).toISOString(),
      ended_at: null,
      duration_ms: null,
    };
  }

  #ended(record: Execution): ExecutionNews {
    return {
      session: record.session_id,
      execution: record.id,
      context: record.context,
      language: record.language,
      state: "ended",
      status: record.status,
      error_code: errorCode(record),
      code: this.#codeOf(record.id),
      created_at: record.queued_at,
      ended_at: record.finished_at,
      duration_ms: record.duration_ms,
    };
  }

  #codeOf(execution: string): string {
    return this.#code.get(execution) ?? cut(this.#journal.code(execution) ?? "", EVENT_CODE_CHARS);
  }
}

function executionOf({ type, data }: SessionNews): string | null {
  if (type === "session") return null;
  return type === "execution" ? data.execution : data.execution_id;
}

/** Of an execution that has ended by now nobody needs to hear that it began. */
function withoutRepetition(news: readonly SessionNews[]): SessionNews[] {
  const last = new Map<string, SessionNews>();
  for (const item of news) if (item.type === "execution") last.set(item.data.execution, item);
  return news.filter((item) => item.type !== "execution" || last.get(item.data.execution) === item);
}
