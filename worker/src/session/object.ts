/**
 * One session: the RPC surface. The session row is in `record`, executions in `executions` and `journal`,
 * creation and end in `lifecycle`.
 *
 * @module
 */
import { DurableObject } from "cloudflare:workers";
import {
  type Artifact,
  type Capability,
  type Cause,
  type Completion,
  type Context,
  type ContextState,
  type CreateSession,
  type Execution,
  type HostParams,
  type HostResult,
  type KernelEvent,
  type Language,
  type NetworkConnection,
  type NetworkRules,
  newId,
  type OnBusy,
  type Outcome,
  type Session,
  type SessionMethod,
  type SessionMetrics,
  type SessionNetwork,
  type SessionReport,
} from "@sandbar/shared";
import { type Answer, ok, refuse } from "../answer.ts";
import { executionWithLinks } from "../artifacts/links.ts";
import { SNAPSHOT_MS } from "../artifacts/settings.ts";
import { stillGood } from "../auth.ts";
import type { Env } from "../env.ts";
import { METRICS_TIMEOUT_MS, sessionMetrics } from "../metrics/samples.ts";
import type { HeldSecrets, SealedValues } from "../network/secret-values.ts";
import { fleetObject, hostObject } from "../rpc.ts";
import { beginStep } from "../traces.ts";
import { Alarm } from "./alarm.ts";
import { newContext } from "./contexts.ts";
import { capabilityFor, refusalByEngine } from "./engine-refusal.ts";
import { executionSource, sessionSource } from "./events.ts";
import { Executions, type ReportAnswer, type Submission } from "./executions.ts";
import { GivenRuns } from "./given-runs.ts";
import { Journal, type StoredRecord } from "./journal.ts";
import { Lifecycle, type NewSession } from "./lifecycle.ts";
import { hasEnded, TOUCH_MAX_MS, touchMs } from "./machine.ts";
import { type Carried, SessionNetworks } from "./network.ts";
import { News } from "./news.ts";
import { Outgoing } from "./outgoing.ts";
import { type ContextRow, describe, Records, type SessionRecord } from "./record.ts";
import { SESSION_TOPIC, Signal } from "./signal.ts";
import { conflictsWith } from "./spec.ts";
import { refuseBeyond, type SseSource, sseStream } from "./sse.ts";

const STOP_WAIT_MS = 10_000;
const REMOVE_MS = 60_000;
const SETTLE_WAIT_MS = 1_000;
const READER_LIMIT = 256;
const PAGE_LIMIT_CHARS = 4_000_000;
/** Who only looks does not use the session: a page that somebody left open keeps none alive. */
const LOOKS: ReadonlySet<SessionMethod> = new Set([
  "state",
  "files.stat",
  "files.list",
  "files.watch",
  "datasets.list",
  "processes.list",
  "processes.get",
  "ports.list",
]);

export class SessionObject extends DurableObject<Env> {
  readonly #records: Records;
  readonly #journal: Journal;
  readonly #outgoing: Outgoing;
  readonly #executions: Executions;
  readonly #lifecycle: Lifecycle;
  readonly #news: News;
  readonly #networks: SessionNetworks;
  readonly #signal = new Signal();
  #readers = 0;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    const signal = this.#signal;
    const records = new Records(ctx.storage.sql);
    const journal = new Journal(ctx.storage.sql);
    const runs = new GivenRuns(records, journal);
    const outgoing = new Outgoing(env, records, runs);
    const alarm = new Alarm(ctx.storage);
    const news = new News(env, records, journal);
    const executions = new Executions({ env, records, journal, runs, outgoing, signal, alarm, news });
    this.#news = news;
    this.#records = records;
    this.#journal = journal;
    this.#outgoing = outgoing;
    this.#executions = executions;
    this.#networks = new SessionNetworks(env, records, outgoing);
    this.#lifecycle = new Lifecycle(ctx.storage, env, {
      records,
      journal,
      executions,
      outgoing,
      signal,
      alarm,
      news,
    });
    if (this.#records.session?.state === "ready") ctx.waitUntil(this.#lifecycle.redrive());
  }

  /** With `wait`, answers when the creation has ended, one way or the other. */
  async create(input: NewSession, wait = false): Promise<Answer<Session>> {
    const created = await this.#lifecycle.create(input);
    if ("failure" in created) return created;
    return wait ? this.whenReady() : this.describe();
  }

  /** Waits until the creation has ended, one way or the other. */
  async whenReady(): Promise<Answer<Session>> {
    while (this.#records.session?.state === "creating") await this.#signal.wait(SESSION_TOPIC);
    const session = this.#records.session;
    await (session?.state === "ready" ? this.#soon(this.#lifecycle.listed) : this.#settled());
    if (!session || session.state === "ready") return this.describe();
    return session.error
      ? { failure: session.error }
      : refuse("SESSION_ENDED", `The session is ${session.state}`);
  }

  async describe(): Promise<Answer<Session>> {
    return this.#with((session) => ok(this.#describe(session)));
  }

  /** The session if it lives, and which given fields it contradicts; null when the key is free. */
  async match(request: CreateSession): Promise<{ session: Session; conflicts: string[] } | null> {
    await this.#lifecycle.opened();
    const session = this.#records.session;
    if (!session || hasEnded(session.state) || session.state === "stopping") return null;
    return {
      session: this.#describe(session),
      conflicts: conflictsWith(request, session.spec, session.image),
    };
  }

  async submit(submission: Submission): Promise<Answer<Execution>> {
    return this.#with(async (session) => {
      const accepted = await this.#executions.submit(session, submission);
      if ("failure" in accepted) return accepted;
      const row = this.#journal.find(accepted.value);
      return row ? ok(this.#executions.describe(session, row)) : refuse("NOT_FOUND", "No such execution");
    });
  }

  /** Submits and waits for the terminal record, as JSON: most callers only pass it on. */
  async run(submission: Submission): Promise<Answer<StoredRecord>> {
    return this.#with(async (session) => {
      const accepted = await this.#executions.submit(session, submission, true);
      if ("failure" in accepted) return accepted;
      const id = accepted.value;
      while (this.#journal.findOpen(id)) await this.#signal.wait(id);
      const record = this.#journal.stored(id);
      return record ? ok(record) : refuse("NOT_FOUND", "No such execution");
    });
  }

  async execution(id: string): Promise<Answer<Execution>> {
    return this.#with((session) => {
      const row = this.#journal.find(id);
      return row
        ? ok(this.#executions.describeWithCode(session, row))
        : refuse("NOT_FOUND", "No such execution");
    });
  }

  /** A page, newest first: at most `limit`, and fewer when they are large, since an answer has a largest size. */
  async executions(
    before: string | null,
    limit: number,
  ): Promise<Answer<{ data: Execution[]; more: boolean }>> {
    return this.#with((session) => {
      const last = before === null ? null : this.#journal.find(before);
      if (before !== null && !last) return ok({ data: [], more: false });
      const rows = this.#journal.page(last?.ordinal ?? null, limit + 1);
      const data: Execution[] = [];
      let chars = 0;
      for (const row of rows.slice(0, limit)) {
        const execution = this.#executions.describeWithCode(session, row);
        chars += JSON.stringify(execution).length;
        if (data.length > 0 && chars > PAGE_LIMIT_CHARS) break;
        data.push(execution);
      }
      return ok({ data, more: data.length < rows.length });
    });
  }

  async interrupt(execution: string): Promise<Answer<null>> {
    return this.#with(() => this.#executions.interrupt(execution));
  }

  /** Server-sent events of one execution after a position, for a key; its artifacts' links lead to `origin`. */
  async executionEvents(
    id: string,
    after: number,
    origin: string,
    key: string,
  ): Promise<Answer<ReadableStream<Uint8Array>>> {
    return this.#with(({ tenant }) => {
      const row = this.#journal.find(id);
      if (!row) return refuse("NOT_FOUND", "No such execution");
      const ending = () => (row.state === "done" ? this.#journal.record(id)!.artifacts.length + 1 : 0);
      if (after > row.position && after > row.position + ending())
        return refuseBeyond(row.position + ending());
      const reader = this.#newReader(id, key);
      if ("failure" in reader) return reader;
      const link = (execution: Execution) => executionWithLinks(this.env, { tenant, origin }, execution);
      return ok(sseStream(executionSource(this.#journal, id, reader.value, link), after));
    });
  }

  /** Server-sent events of the session's states and progress. */
  async sessionEvents(after: number, key: string): Promise<Answer<ReadableStream<Uint8Array>>> {
    return this.#with(() => {
      const last = this.#records.lastPosition();
      if (after > last) return refuseBeyond(last);
      const reader = this.#newReader(SESSION_TOPIC, key);
      return "failure" in reader ? reader : ok(sseStream(sessionSource(this.#records, reader.value), after));
    });
  }

  #newReader(topic: string, key: string): Answer<Pick<SseSource, "wait" | "allowed" | "closed">> {
    if (this.#readers >= READER_LIMIT)
      return refuse("RATE_LIMITED", `The session has ${READER_LIMIT} open event streams`, {
        retry_after_s: 1,
      });
    this.#readers++;
    let open = true;
    const closed = () => {
      if (open) this.#readers--;
      open = false;
    };
    const allowed = () => stillGood(this.env.DB, key);
    return ok({ wait: (ms) => this.#signal.wait(topic, ms), allowed, closed });
  }

  async contexts(): Promise<Answer<Context[]>> {
    return this.#with(() => ok(this.#records.contexts().map((row) => this.#describeContext(row))));
  }

  async createContext(
    name: string,
    language: Language,
  ): Promise<Answer<{ context: Context; created: boolean }>> {
    return this.#whenRunning(async (session) => {
      const lookup = {
        find: (wanted: string) => this.#records.context(wanted),
        count: () => this.#records.contexts().length,
      };
      const made = newContext(session, name, language, lookup, Date.now());
      if ("failure" in made) return made;
      const { context, fresh } = made.value;
      if (fresh) {
        this.#records.addContext(context);
        await this.#outgoing.send({
          command: { type: "context.open", context: name, language },
          dedupe: `context.open:${context.id}`,
        });
      }
      return ok({ context: this.#describeContext(context), created: fresh });
    });
  }

  async restartContext(reference: string): Promise<Answer<Context>> {
    return this.#withContext(reference, async (context) => {
      const sent = await this.#outgoing.send(
        {
          command: { type: "context.restart", context: context.name },
          dedupe: `context.restart:${newId("req")}`,
        },
        { refusable: true },
      );
      return "failure" in sent ? sent : ok(this.#describeContext(context));
    });
  }

  async removeContext(reference: string): Promise<Answer<null>> {
    return this.#withContext(reference, async (context) => {
      this.#executions.endQueued(
        "interrupted",
        "INTERRUPTED",
        { variables: "lost", files: "kept" },
        context.name,
      );
      this.#records.removeContext(context.id);
      const sent = await this.#outgoing.send({
        command: { type: "context.close", context: context.name },
        dedupe: `context.close:${context.id}`,
      });
      return "failure" in sent ? sent : ok(null);
    });
  }

  /** What a context holds; of the session's own runtime when none is named. */
  async state(reference: string | null): Promise<Answer<ContextState>> {
    return this.#whenRunning((session) => {
      const context = this.#records.context(reference ?? session.spec.runtime);
      return context ? this.ask("state", { context: context.name }) : refuse("NOT_FOUND", "No such context");
    });
  }

  /** What could stand at the cursor. A context that is not there yet may have a warm kernel already; if not, it knows nothing. */
  async complete(reference: string | null, code: string, cursor: number): Promise<Answer<Completion>> {
    return this.#whenRunning((session) => {
      const name = reference ?? session.spec.runtime;
      const context = this.#records.context(name)?.name ?? name;
      return this.ask("complete", { context, code, cursor });
    });
  }

  /** A question to the host that may simply fail. It is use of the session until it is answered, unless it only looks. */
  async ask<M extends SessionMethod>(
    method: M,
    params: HostParams<M>,
    timeoutMs?: number,
    cause?: Cause,
  ): Promise<Answer<HostResult<M>>> {
    return this.#whenRunning((session) => {
      const unsupported = refusalByEngine(session, capabilityFor(method, params));
      if (unsupported) return unsupported;
      const step = beginStep(this.env, cause);
      const asked = () =>
        hostObject(this.env, session.host_id!)
          .call(session.id, method, params, timeoutMs, step.cause)
          .finally(() => step.end(`host: ${method}`, { "sandbar.session": session.id }));
      if (LOOKS.has(method)) return asked();
      this.#records.touch(Date.now());
      const asking = setInterval(() => void this.touch(), touchMs(session.spec));
      return asked().finally(() => clearInterval(asking));
    });
  }

  /** Has the host bring it all to the control plane; joined when it does so already. */
  async snapshot(snapshot: string, on_busy: OnBusy): Promise<Answer<null>> {
    return this.#whenRunning(() => {
      const contexts = this.#records.contexts().map(({ name, language }) => ({ name, language }));
      return this.ask("snapshots.take", { snapshot, contexts, on_busy }, SNAPSHOT_MS);
    });
  }

  /** What it uses. Looking at it is not use: a list that somebody watches keeps no session alive. */
  async metrics(): Promise<Answer<SessionMetrics>> {
    return this.#whenRunning(async ({ id, host_id, spec }) => {
      const answer = await hostObject(this.env, host_id).call(id, "metrics", {}, METRICS_TIMEOUT_MS);
      return "failure" in answer ? answer : ok(sessionMetrics(spec, answer.value.samples));
    });
  }

  /** What it may reach, and what it has reached. */
  async network(): Promise<Answer<SessionNetwork>> {
    return this.#whenRunning((session) => this.#networks.look(session));
  }

  /** For its host alone: what it keeps of its secrets. */
  async networkSecrets(): Promise<Answer<HeldSecrets>> {
    return this.#whenRunning(({ spec: { rules }, sealed_values }) =>
      rules ? ok({ rules, sealed: sealed_values ?? null }) : refuse("NOT_FOUND", "No such session"),
    );
  }

  /** `rules`: without values of secrets. */
  async setNetwork(rules: NetworkRules, sealed: SealedValues): Promise<Answer<SessionNetwork>> {
    return this.#whenRunning(async (session) => {
      this.#records.touch(Date.now());
      const answer = await this.#networks.change(session, rules, sealed);
      await this.#settled();
      return answer;
    });
  }

  /** Bytes are on their way in or out: that is use, too. Answers when to say so again, at the latest. */
  async touch(): Promise<number> {
    const { session } = this.#records;
    if (session?.state !== "ready") return TOUCH_MAX_MS;
    this.#records.touch(Date.now());
    return touchMs(session.spec);
  }

  /** Where it runs, for whoever asks that host again and again for what needs the capability. */
  async hostInUse(capability: Capability): Promise<Answer<string>> {
    return this.#whenRunning((session) => {
      const unsupported = refusalByEngine(session, capability);
      if (unsupported) return unsupported;
      this.#records.touch(Date.now());
      return ok(session.host_id!);
    });
  }

  /** Ends the session and waits a while for the host to say so. */
  async stop(reason: string): Promise<Answer<null>> {
    return this.#with(async () => {
      await this.#lifecycle.stop(reason);
      const until = Date.now() + STOP_WAIT_MS;
      while (this.#records.session && !hasEnded(this.#records.session.state)) {
        const left = until - Date.now();
        if (left <= 0 || !(await this.#signal.wait(SESSION_TOPIC, left))) break;
      }
      await this.#settled();
      return ok(null);
    });
  }

  /** Removes the folder that a BIND session leaves on its host, now or as soon as the session is over. */
  async removeFolder(): Promise<Answer<null>> {
    return this.#with(async ({ id, host_id, spec }) => {
      if (spec.storage !== "BIND") return ok(null);
      const answer = await hostObject(this.env, host_id).call(
        "",
        "folders.remove",
        { session: id },
        REMOVE_MS,
      );
      if (!("failure" in answer)) return ok(null);
      const host = await fleetObject(this.env).host(host_id);
      // What a host that was removed has left is its operator's.
      return "failure" in host && host.failure.code === "NOT_FOUND" ? ok(null) : answer;
    });
  }

  /** From the HostObject: what a kernel said, and how it ended. Null when there is no such session. */
  async report(
    execution: string,
    events: KernelEvent[],
    outcome: Outcome | null,
  ): Promise<ReportAnswer | null> {
    return this.#records.session ? this.#executions.report(execution, events, outcome) : null;
  }

  /** From the HostObject: what became of the session there. True when nothing of it should be left there. */
  async hostReport(report: SessionReport): Promise<boolean> {
    return this.#records.session ? this.#lifecycle.hostReport(report) : true;
  }

  async hostLost(unsent: string[]): Promise<void> {
    if (this.#records.session) this.#lifecycle.hostLost(unsent);
  }

  /** Artifacts that no execution will name. */
  async artifactsTaken(artifacts: Artifact[]): Promise<void> {
    this.#news.artifacts(artifacts);
  }

  /** What its code has connected to. */
  async networkUsed(connections: NetworkConnection[], dropped: number, carried?: Carried): Promise<void> {
    if (!this.#records.session) return;
    if (connections.length > 0 || dropped > 0) {
      this.#records.log("network", { connections, dropped });
      this.#signal.wake(SESSION_TOPIC);
    }
    if (carried) await this.#networks.carried(this.#records.session, carried);
  }

  async progress(step: string, detail: string): Promise<void> {
    if (this.#records.session) this.#lifecycle.progress(step, detail);
  }

  override async alarm(): Promise<void> {
    await this.#lifecycle.alarm();
  }

  async #with<T>(use: (session: SessionRecord) => Answer<T> | Promise<Answer<T>>): Promise<Answer<T>> {
    const session = this.#records.session;
    return session ? use(session) : refuse("NOT_FOUND", "No such session");
  }

  async #whenRunning<T>(use: (session: SessionRecord) => Answer<T> | Promise<Answer<T>>): Promise<Answer<T>> {
    return this.#with((session) => {
      if (session.state === "creating") return refuse("SESSION_NOT_READY");
      return session.state === "ready"
        ? use(session)
        : refuse("SESSION_ENDED", `The session is ${session.state}`);
    });
  }

  async #withContext<T>(
    reference: string,
    use: (context: ContextRow) => Promise<Answer<T>>,
  ): Promise<Answer<T>> {
    return this.#whenRunning((): Answer<T> | Promise<Answer<T>> => {
      const context = this.#records.context(reference);
      return context ? use(context) : refuse("NOT_FOUND", "No such context");
    });
  }

  #describe(session: SessionRecord): Session {
    return describe(session, this.#records.activity, this.#journal.hasOpen());
  }

  #describeContext(row: ContextRow): Context {
    const open = this.#journal.open(row.name);
    return {
      id: row.id,
      name: row.name,
      language: row.language,
      created_at: new Date(row.created_at).toISOString(),
      queued: open.filter(({ state }) => state === "queued").length,
      running: open.find(({ state }) => state === "sent")?.id ?? null,
      lost: this.#records.lastLoss(row),
    };
  }

  /** Lists read D1, so an answer waits for it, within reason. */
  async #settled(): Promise<void> {
    if (this.#records.unmirrored) await this.#soon(this.#lifecycle.settle());
  }

  async #soon(work: Promise<void>): Promise<void> {
    await Promise.race([work, new Promise((resolve) => setTimeout(resolve, SETTLE_WAIT_MS))]);
  }
}
