/**
 * What happens in one tenant: a log of the newest events for whoever watches, and counts of them over time. Sessions
 * tell it in batches, after they have answered.
 *
 * @module
 */
import { DurableObject } from "cloudflare:workers";
import type { Artifact, UsagePoint } from "@sandbar/shared";
import { type Answer, ok, refuse } from "../answer.ts";
import { withLinks } from "../artifacts/links.ts";
import { stillGood } from "../auth.ts";
import { findPolicy } from "../db/policies.ts";
import type { Env } from "../env.ts";
import { type Spent, spentShare, startOfDay } from "../policy/egress-share.ts";
import { Signal } from "../session/signal.ts";
import { sseStream } from "../session/sse.ts";
import { EventLog } from "./event-log.ts";
import { type Cursor, tenantSource } from "./event-source.ts";
import { HostFeed } from "./host-feed.ts";
import { type Known, SeenSessions } from "./seen-sessions.ts";
import { factsOf, isLive, type SessionBatch } from "./session-batch.ts";
import { type SeriesQuery, UsageBuckets, type UsageTotals } from "./usage-buckets.ts";

const LIMITS = { events: 10_000, ageMs: 24 * 3600_000 };
const READER_LIMIT = 64;
const TOPIC = "events";
const SHARE_KEPT_MS = 10_000;

export interface EventReader {
  readonly tenant: string;
  /** What the caller is known by. */
  readonly credential: string;
  /** Where artifacts' links lead. */
  readonly origin: string;
  /** Whether it sees what happens in the tenant, and what happens to hosts. */
  readonly agent: boolean;
  readonly operator: boolean;
}

export class TenantObject extends DurableObject<Env> {
  readonly #log: EventLog;
  readonly #seen: SeenSessions;
  readonly #usage: UsageBuckets;
  readonly #signal = new Signal();
  #readers = 0;
  /** Of egress, and when it was looked up. */
  #share: number | null = null;
  #shareAt = 0;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    const { sql } = ctx.storage;
    this.#log = new EventLog(sql, LIMITS);
    this.#seen = new SeenSessions(sql);
    this.#usage = new UsageBuckets(sql);
  }

  /** From a SessionObject. Told again, it changes nothing. */
  async tell(batch: SessionBatch): Promise<void> {
    const { session, status, teller, n, ordinal, open, news } = batch;
    const before = this.#seen.find(session);
    if (before?.teller === teller && n <= before.n) return;
    const now = Date.now();
    const lived = this.#seen.live;
    const live = isLive(status);
    this.#log.append(news, now);
    this.#seen.save(session, { status, teller, n, ordinal, open, live }, before, now);
    const facts = factsOf(news);
    if (!before) facts.push({ at: batch.created_at, created: true });
    this.#usage.add(facts, lived, this.#seen.live, now);
    this.#signal.wake(TOPIC);
  }

  /** To a SessionObject that was reset: what it has told. */
  async known(session: string): Promise<Known | null> {
    const seen = this.#seen.find(session);
    return seen && { ordinal: seen.ordinal, open: seen.open, status: seen.status };
  }

  /** Bytes that a session's network has carried. Null, or until when nothing more may be carried, and why. */
  async carry(tenant: string, bytes: number): Promise<Spent | null> {
    const now = Date.now();
    const { live } = this.#seen;
    this.#usage.add([{ at: now, egress: bytes }], live, live, now);
    if (now - this.#shareAt > SHARE_KEPT_MS) {
      this.#share = (await findPolicy(this.env.DB, tenant)).effective.shares.egress_mb_per_day;
      this.#shareAt = now;
    }
    return spentShare(this.#share, await this.egressToday(), now);
  }

  /** Bytes since midnight, in UTC. */
  async egressToday(): Promise<number> {
    return this.#usage.egressSince(startOfDay(Date.now()));
  }

  async series(query: SeriesQuery): Promise<UsagePoint[]> {
    return this.#usage.series(query, Date.now());
  }

  async totals(): Promise<UsageTotals> {
    const { peak: _, ...total } = this.#usage.total();
    return { ...total, open: this.#seen.open };
  }

  /** Server-sent events after a position, or from now on. */
  async events(after: Cursor | null, reader: EventReader): Promise<Answer<ReadableStream<Uint8Array>>> {
    if (this.#readers >= READER_LIMIT)
      return refuse("RATE_LIMITED", `The tenant has ${READER_LIMIT} open event streams`, {
        retry_after_s: 5,
      });
    this.#readers++;
    let hosts: HostFeed | null = null;
    let open = true;
    const closed = () => {
      hosts?.close();
      if (open) this.#readers--;
      open = false;
    };
    try {
      const wake = () => this.#signal.wake(TOPIC);
      hosts = reader.operator ? await HostFeed.open(this.env, after?.hosts ?? null, wake) : null;
      const start: Cursor = { own: after?.own ?? this.#log.last, hosts: hosts?.start ?? null };
      const source = tenantSource({
        log: reader.agent ? this.#log : null,
        hosts,
        link: async (artifact) => (await withLinks(this.env, reader, [artifact]))[0] as Artifact,
        reader: {
          wait: (ms) => this.#signal.wait(TOPIC, ms),
          allowed: () => stillGood(this.env.DB, reader.credential),
          closed,
        },
      });
      return ok(sseStream(source, start));
    } catch (error) {
      closed();
      throw error;
    }
  }
}
