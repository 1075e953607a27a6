/** @module A session's way from creation to its end: reservations, alarms, and what others must hear of it. */
import {
  type Cause,
  type CreateSession,
  type ErrorCode,
  ErrorCodeSchema,
  type Failure,
  limitRefusal,
  needsOf,
  newId,
  type SessionReport,
  type SessionSpec,
} from "@sandbar/shared";
import { type Answer, ok, type Refusal, refuse } from "../answer.ts";
import { findStanding } from "../db/policies.ts";
import { mirrorSession } from "../db/sessions.ts";
import { createTimeoutMs, type Env } from "../env.ts";
import type { SealedValues } from "../network/secret-values.ts";
import { spentShare } from "../policy/egress-share.ts";
import { engineByPolicy, refusalByPolicy, withinMaxima } from "../policy/session-policy.ts";
import { fleetObject, tenantObject } from "../rpc.ts";
import type { Origin } from "../snapshots/origin.ts";
import { type Alarm, RETRY_MS } from "./alarm.ts";
import { COMMAND_LIMIT_BYTES, type Executions, type ExecutionsParts, exceeds } from "./executions.ts";
import { JOURNAL_SCHEMA, type Journal } from "./journal.ts";
import { expiresAt, hasEnded, type LifeEvent, reasonToStop, transition } from "./machine.ts";
import type { News } from "./news.ts";
import type { Outgoing } from "./outgoing.ts";
import { describe, type Records, type SessionRecord } from "./record.ts";
import { holdVolumes, letVolumesGo, volumesHost } from "./session-volumes.ts";
import { SESSION_TOPIC, type Signal } from "./signal.ts";
import { DEFAULT_LIMITS, fillSpec, hostMaxima } from "./spec.ts";

const STOP_TIMEOUT_MS = 60_000;
const KEEP_ENDED_MS = 30 * 24 * 3600_000;

export interface NewSession {
  readonly id: string;
  readonly tenant: string;
  readonly key: string;
  /** Without the values of secrets. */
  readonly request: CreateSession;
  readonly sealed_values: SealedValues;
  /** The key or token. */
  readonly created_by: string | null;
  readonly cause?: Cause;
  /** The snapshot that it begins with, whose specification is in the request already. */
  readonly origin?: Origin | undefined;
}

export interface LifecycleParts extends Omit<ExecutionsParts, "runs" | "env"> {
  readonly executions: Executions;
}

export class Lifecycle {
  readonly #storage: DurableObjectStorage;
  readonly #env: Env;
  readonly #records: Records;
  readonly #journal: Journal;
  readonly #executions: Executions;
  readonly #outgoing: Outgoing;
  readonly #signal: Signal;
  readonly #alarm: Alarm;
  readonly #news: News;
  readonly #listed = Promise.withResolvers<void>();
  #isListed = false;
  #opening: Promise<Refusal | null> | null = null;
  #dispatched = false;
  #settling: Promise<void> | null = null;
  #driving: Promise<Refusal | null> | null = null;

  constructor(storage: DurableObjectStorage, env: Env, parts: LifecycleParts) {
    this.#storage = storage;
    this.#env = env;
    this.#records = parts.records;
    this.#journal = parts.journal;
    this.#executions = parts.executions;
    this.#outgoing = parts.outgoing;
    this.#signal = parts.signal;
    this.#alarm = parts.alarm;
    this.#news = parts.news;
  }

  /** Resolves once a host has the creation; a refusal leaves no trace of the session. */
  async create(input: NewSession): Promise<Answer<null>> {
    this.#opening ??= this.#open(input).finally(() => {
      this.#opening = null;
    });
    const refusal = (await this.#opening) ?? (await this.#drive());
    if (!refusal) return ok(null);
    if (this.#records.session?.step === "hold") {
      this.#news.withdrawn(refusal.failure);
      this.#records.session = null;
      await this.#alarm.clear();
      await this.#storage.deleteAll();
    }
    return refusal;
  }

  /** Resolves when a creation that has begun is written down, or was refused. */
  async opened(): Promise<void> {
    await this.#opening?.catch(() => {});
  }

  /** The first write comes after the reservation: the fleet itself takes back what it keeps for a session that never was. */
  async #open(input: NewSession): Promise<Refusal | null> {
    if (this.#records.session) return null;
    const { origin, ...rest } = input;
    const { id, tenant, request } = rest;
    const wanted = fillSpec(request);
    if (exceeds(JSON.stringify(wanted), COMMAND_LIMIT_BYTES))
      return refuse("PAYLOAD_TOO_LARGE", `The specification exceeds ${COMMAND_LIMIT_BYTES} bytes`);
    const needs = needsOf(wanted);
    const [{ policy, alone }, pinned] = await Promise.all([
      findStanding(this.#env.DB, tenant),
      volumesHost(this.#env, tenant, wanted.volumes),
    ]);
    const forbidden = refusalByPolicy(policy, request, needs.capabilities);
    if (forbidden) return refuse("FORBIDDEN_BY_POLICY", forbidden);
    if ("failure" in pinned) return pinned;
    const { egress_mb_per_day } = policy.shares;
    if (egress_mb_per_day !== null && (wanted.network !== "none" || wanted.rules)) {
      const carried = await tenantObject(this.#env, tenant).egressToday();
      const spent = spentShare(egress_mb_per_day, carried, Date.now());
      if (spent) return refuse("QUOTA_EXCEEDED", spent.reason);
    }
    const reserved = await fleetObject(this.#env).reserve({
      session: id,
      tenant,
      ...needs,
      engine: engineByPolicy(policy, request),
      image: wanted.image,
      memory_mb: request.limits?.memory_mb ?? null,
      cpus: request.limits?.cpus ?? null,
      most: policy.max,
      isolation: policy.isolation,
      shares: policy.shares,
      host_percent: alone ? 100 : policy.shares.host_percent,
      host: pinned.value,
    });
    if ("failure" in reserved) return reserved;
    const { host_id, engine, capabilities, default_limits } = reserved.value;
    const filled = fillSpec(request, withinMaxima({ ...DEFAULT_LIMITS, ...default_limits }, policy.max));
    const { idle_ttl_s, max_lifetime_s } = filled;
    const spec: SessionSpec = {
      ...filled,
      ...withinMaxima({ idle_ttl_s, max_lifetime_s }, policy.max),
      engine,
    };
    if (policy.max.timeout_s !== undefined) spec.max_timeout_s = policy.max.timeout_s;
    const tooMuch = limitRefusal(spec.limits, hostMaxima(default_limits));
    if (tooMuch) {
      await fleetObject(this.#env).release(id);
      return refuse("LIMIT_EXCEEDED", tooMuch);
    }
    if (origin) {
      const { snapshot, digest, at } = origin;
      spec.restore = { snapshot, digest, at };
    }
    const now = Date.now();
    this.#records.create(
      {
        ...rest,
        ...(origin ? { restored: { snapshot: origin.snapshot, at: origin.at, contexts: [] } } : {}),
        spec,
        labels: request.labels ?? {},
        state: "creating",
        step: spec.volumes.length ? "hold" : "dispatch",
        host_id,
        image: null,
        languages: [],
        capabilities,
        created_at: now,
        stopping_at: null,
        ended_at: null,
        error: null,
        dirty: true,
        released: false,
      },
      JOURNAL_SCHEMA,
    );
    this.#records.addContext({
      id: newId("ctx"),
      name: spec.runtime,
      language: spec.runtime,
      created_at: now,
    });
    for (const { name, language } of origin?.contexts ?? [])
      if (name !== spec.runtime)
        this.#records.addContext({ id: newId("ctx"), name, language, created_at: now });
    this.#logStatus();
    await this.#alarm.set(now + RETRY_MS);
    return null;
  }

  /** Takes the creation's next steps, from wherever it was interrupted; many callers share one drive. */
  #drive(): Promise<Refusal | null> {
    this.#driving ??= this.#takeSteps().finally(() => {
      this.#driving = null;
    });
    return this.#driving;
  }

  async #takeSteps(): Promise<Refusal | null> {
    let session = this.#records.session;
    if (session?.state !== "creating") return null;
    if (session.step === "hold") {
      const { host_id, spec } = session;
      const held = await holdVolumes(this.#env, session, host_id, spec.volumes);
      if ("failure" in held) {
        await fleetObject(this.#env).release(session.id);
        return held;
      }
      if (this.#records.session?.state !== "creating") {
        await letVolumesGo(this.#env, session.id, spec.volumes);
        return null;
      }
      session = this.#records.update({ spec: { ...spec, ...held.value }, step: "dispatch" });
    }
    if (session.step === "dispatch" && !this.#dispatched) {
      // Beside the host's work, not after it: the answer waits for D1 to have the session.
      void this.settle();
      const { tenant, spec, cause } = session;
      const sent = await this.#outgoing.send({
        command: { type: "session.create", tenant, context: spec.runtime, spec, ...(cause && { cause }) },
        dedupe: "session.create",
      });
      if (this.#records.session?.state !== "creating") return null;
      if ("failure" in sent)
        this.end("failed", { code: "SESSION_START_FAILED", detail: sent.failure.detail });
      // Not written: a host that has the session already only says so again.
      this.#dispatched = true;
    }
    return null;
  }

  /** What the host says of the session; true when the host should have nothing of it any more. */
  hostReport(report: SessionReport): boolean {
    const session = this.#records.session!;
    switch (report.state) {
      case "creating":
        break;
      case "ready":
        if (session.state === "creating" && session.restored && !report.restored) {
          const detail = "The session's host cannot restore snapshots: it has an older version";
          this.end("failed", { code: "SESSION_START_FAILED", detail });
          break;
        }
        // Said again after each welcome: what was on its way when the link was cut may be lost.
        if (!this.#apply("ready", readyPatch(session, report))) void this.redrive();
        for (const loss of report.lost ?? []) this.#executions.lost(loss);
        break;
      case "failed":
        this.end("failed", report.failure);
        break;
      case "died":
        this.end("died", diedFailure(report.error));
        break;
      case "stopped":
        this.end("stopped", null);
        break;
    }
    return hasEnded(this.#records.session!.state) || session.state === "stopping";
  }

  async redrive(): Promise<void> {
    try {
      await this.#executions.redrive();
    } catch (error) {
      console.error("runs not handed over yet", this.#records.session?.id, error);
      await this.#alarm.retrySoon();
    }
  }

  /** The host is gone for good; of what it had not been sent we know that it did not run. */
  hostLost(unsent: readonly string[]): void {
    const never = new Set(unsent);
    this.end("lost", { code: "HOST_LOST", detail: "The host was lost" }, (row) =>
      row.state === "queued" || (never.has(row.id) && row.last_seq === 0)
        ? { status: "died", code: "HOST_LOST" }
        : { status: "unknown", code: "OUTCOME_UNKNOWN" },
    );
  }

  async stop(reason: string): Promise<void> {
    const session = this.#records.session!;
    if (hasEnded(session.state)) return;
    if (this.#apply("stop", { stopping_at: Date.now() }))
      this.#executions.endQueued("interrupted", "SESSION_STOPPED", { variables: "lost", files: "lost" });
    await this.#alarm.retrySoon();
    await this.#sendStop(reason);
  }

  async #sendStop(reason: string): Promise<void> {
    const sent = await this.#outgoing.send({
      command: { type: "session.stop", reason },
      dedupe: "session.stop",
    });
    // A host that was removed has nothing left to stop.
    if ("failure" in sent) this.end("stopped", null);
  }

  end(
    event: Exclude<LifeEvent, "ready" | "stop">,
    failure: Failure | null,
    ending?: Parameters<Executions["endAll"]>[0],
  ): void {
    const before = this.#records.session!;
    if (!this.#apply(event, { ended_at: Date.now(), error: before.state === "stopping" ? null : failure }))
      return;
    const stopped = this.#records.session!.state === "stopped";
    this.#executions.endAll(
      ending ??
        (() =>
          stopped
            ? { status: "interrupted", code: "SESSION_STOPPED" }
            : { status: "died", code: "CONTAINER_DIED", detail: failure?.detail }),
    );
  }

  #apply(event: LifeEvent, patch: Partial<SessionRecord>): boolean {
    const next = transition(this.#records.session!.state, event);
    if (!next) return false;
    this.#records.update({ ...patch, state: next, dirty: true });
    this.#logStatus();
    // D1 hears of that later: lists ask those that it has as being created.
    if (next !== "ready") void this.settle();
    return true;
  }

  progress(step: string, detail: string): void {
    this.#records.log("progress", { step, detail });
    this.#signal.wake(SESSION_TOPIC);
  }

  #logStatus(): void {
    this.#records.log(
      "status",
      describe(this.#records.session!, this.#records.activity, this.#journal.hasOpen()),
    );
    this.#signal.wake(SESSION_TOPIC);
    this.#news.changed();
  }

  /** Tells D1 and the fleet what they have not heard; what fails is tried again by the alarm. */
  settle(): Promise<void> {
    this.#settling ??= this.#settle()
      .catch(async (error) => {
        console.error("session not settled yet", this.#records.session?.id, error);
        await this.#alarm.retrySoon();
      })
      .finally(() => {
        this.#settling = null;
      });
    return this.#settling;
  }

  async #settle(): Promise<void> {
    for (;;) {
      const session = this.#records.session;
      if (!session) return;
      if (hasEnded(session.state) && !session.released) {
        await letVolumesGo(this.#env, session.id, session.spec.volumes);
        await fleetObject(this.#env).release(session.id);
        this.#records.update({ released: true });
      } else if (this.#records.unmirrored) {
        const { executions } = this.#records.activity;
        await mirrorSession(this.#env.DB, session, this.#records.activity);
        this.#records.mirrored(session, executions);
        this.#list();
        if (this.#records.session?.state === "ready") return;
      } else return this.#list();
    }
  }

  #list(): void {
    this.#isListed = true;
    this.#listed.resolve();
  }

  /** Resolves once lists can show the session, if only as it was a moment ago. */
  get listed(): Promise<void> {
    if (!this.#isListed) void this.settle();
    return this.#listed.promise;
  }

  /** The runtime gives an alarm up that failed a few times, so this one never fails. */
  async alarm(): Promise<void> {
    this.#alarm.wentOff();
    try {
      await this.#tick(Date.now());
    } catch (error) {
      console.error("alarm", this.#records.session?.id, error);
      await this.#alarm.retrySoon();
    }
  }

  async #tick(now: number): Promise<void> {
    let session = this.#records.session;
    if (!session) return;
    if (session.state === "creating") {
      if (now >= session.created_at + createTimeoutMs(this.#env, session.spec)) {
        this.end("failed", { code: "SESSION_START_FAILED", detail: "The session was not ready in time" });
        await this.#sendStop("creation timeout").catch(() => undefined);
      } else {
        const refusal = await this.#drive();
        if (refusal) this.end("failed", refusal.failure);
      }
    } else if (session.state === "ready") {
      const times = {
        ...session.spec,
        created_at: session.created_at,
        last_used_at: this.#records.activity.last_used_at,
      };
      const reason = reasonToStop(times, this.#journal.hasOpen(), now);
      if (reason) await this.stop(reason);
      else await this.#executions.redrive();
    } else if (session.state === "stopping") {
      if (now >= (session.stopping_at ?? now) + STOP_TIMEOUT_MS) this.end("stopped", null);
      else await this.#sendStop("stop");
    } else if (session.released && now >= (session.ended_at ?? now) + KEEP_ENDED_MS) {
      this.#records.session = null;
      await this.#storage.deleteAll();
      return;
    }
    await this.settle();
    session = this.#records.session!;
    await this.#alarm.wakeAt(this.#nextAlarm(session, Date.now()));
  }

  #nextAlarm(session: SessionRecord, now: number): number {
    switch (session.state) {
      case "creating":
        return Math.min(now + RETRY_MS, session.created_at + createTimeoutMs(this.#env, session.spec));
      case "stopping":
        return now + RETRY_MS;
      case "ready": {
        const { last_used_at } = this.#records.activity;
        const end = expiresAt({ ...session.spec, created_at: session.created_at, last_used_at });
        return this.#journal.hasOpen() ? now + 30_000 : Math.max(end, now + 10);
      }
      default:
        return this.#records.unmirrored || !session.released
          ? now + RETRY_MS
          : (session.ended_at ?? now) + KEEP_ENDED_MS;
    }
  }
}

function readyPatch(
  { restored }: SessionRecord,
  report: Extract<SessionReport, { state: "ready" }>,
): Partial<SessionRecord> {
  const { languages, image } = report;
  const contexts = report.restored;
  return { languages, image, ...(restored && contexts ? { restored: { ...restored, contexts } } : {}) };
}

function diedFailure(error: { name: string; value: string }): Failure {
  const code = ErrorCodeSchema.safeParse(error.name);
  const known: ErrorCode = code.success ? code.data : "CONTAINER_DIED";
  return { code: known, detail: error.value || "The container died" };
}
