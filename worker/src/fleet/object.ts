/** @module The fleet: which hosts there are, and which session has its place on which. One per deployment. */
import { DurableObject } from "cloudflare:workers";
import {
  type Capability,
  type Capacity,
  type EngineName,
  type Host,
  type HostDrain,
  newId,
  timeOfId,
  USUAL_ENGINE,
} from "@sandbar/shared";
import { type Answer, ok, refuse } from "../answer.ts";
import { type Env, maxSessionsPerTenant } from "../env.ts";
import { sessionObject } from "../rpc.ts";
import { sha256Hex } from "../tokens.ts";
import { ENROLLMENT_SCHEMA, Enrollments } from "./enrollments.ts";
import { HostLog, type HostLogPage } from "./host-log.ts";
import { type Candidate, type Need, offerFor, offersOf, place } from "./placement.ts";
import { Turns } from "./turns.ts";

const SCHEMA = [
  `CREATE TABLE IF NOT EXISTS hosts (id TEXT PRIMARY KEY, name TEXT NOT NULL, public_key TEXT NOT NULL,
     status TEXT NOT NULL, cordoned INTEGER NOT NULL DEFAULT 0, capacity TEXT, version TEXT,
     epoch INTEGER NOT NULL DEFAULT 0, joined_at INTEGER NOT NULL, last_seen_at INTEGER)`,
  `CREATE TABLE IF NOT EXISTS drains (host TEXT PRIMARY KEY, sessions INTEGER NOT NULL, began_at INTEGER NOT NULL)`,
  `CREATE TABLE IF NOT EXISTS reservations (session TEXT PRIMARY KEY, tenant TEXT NOT NULL, host TEXT NOT NULL,
     memory_mb INTEGER NOT NULL, cpus REAL NOT NULL DEFAULT 1)`,
  "CREATE INDEX IF NOT EXISTS reservations_by_host ON reservations (host)",
  "CREATE INDEX IF NOT EXISTS reservations_by_tenant ON reservations (tenant)",
  ENROLLMENT_SCHEMA,
];

const HOST_LIMIT = 10_000;
/** Between its reservation and its first write no creation takes this long. */
const ORPHAN_MS = 60_000;

export interface Reservation extends Need {
  readonly session: string;
  readonly tenant: string;
  /** What the tenant may have at once; null: no limit. */
  readonly shares: Holdings<number | null>;
  /** The only host that will do, because the session's volumes lie there. */
  readonly host: string | null;
}

interface Holdings<N = number> {
  readonly sessions: N;
  readonly memory_mb: N;
  readonly cpus: N;
}

interface Reserved {
  readonly host_id: string;
  readonly engine: EngineName;
  readonly capabilities: Capability[];
  readonly default_limits?: Record<string, number>;
}

interface Placed {
  readonly session: string;
  readonly tenant: string;
}

interface HostRow extends Record<string, SqlStorageValue> {
  id: string;
  name: string;
  public_key: string;
  status: Host["status"];
  cordoned: number;
  capacity: string | null;
  version: string | null;
  epoch: number;
  joined_at: number;
  last_seen_at: number | null;
  sessions: number;
  reserved_mb: number;
  drain_sessions: number | null;
  drain_began_at: number | null;
}

export interface HostNews {
  readonly status: "online" | "unreachable" | "lost";
  readonly epoch: number;
  readonly last_seen_at: number;
  readonly capacity?: Capacity;
  readonly version?: string;
}

export class FleetObject extends DurableObject<Env> {
  readonly #sql: SqlStorage;
  readonly #enrollments: Enrollments;
  /** Sessions that are known to have their reservation. */
  readonly #claimed = new Set<string>();
  readonly #log: HostLog;
  readonly #turns = new Turns();

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#sql = ctx.storage.sql;
    for (const statement of SCHEMA) this.#sql.exec(statement);
    this.#addCpus();
    this.#enrollments = new Enrollments(this.#sql);
    this.#log = new HostLog(this.#sql, (id) => this.#rows(id).map(toHost));
  }

  /** Changes of hosts after a position, waited for a while; without a position only says where the log is. */
  async hostEvents(after: number | null, waitMs: number): Promise<HostLogPage> {
    return this.#log.after(after, waitMs);
  }

  async enroll(): Promise<{ token: string; expires_at: string }> {
    const { token, expires_at } = await this.#enrollments.open(Date.now());
    return { token, expires_at: new Date(expires_at).toISOString() };
  }

  async join(token: string, name: string, publicKey: string): Promise<Answer<string>> {
    const digest = await sha256Hex(token);
    const redeemed = this.#enrollments.redeem(digest, publicKey, newId("hst"), Date.now());
    if (!redeemed) return refuse("ENROLLMENT_INVALID");
    if (!redeemed.existing) {
      if (this.#sql.exec<{ n: number }>("SELECT count(*) AS n FROM hosts").one().n >= HOST_LIMIT)
        return refuse("LIMIT_EXCEEDED", `A deployment may have ${HOST_LIMIT} hosts`);
      this.#sql.exec(
        "INSERT INTO hosts (id, name, public_key, status, joined_at) VALUES (?, ?, ?, 'joining', ?)",
        redeemed.host,
        name,
        publicKey,
        Date.now(),
      );
      this.#log.changed(redeemed.host);
    }
    return ok(redeemed.host);
  }

  /** The key that the host registered at join; null for a host that is unknown or was removed. */
  async publicKey(host: string): Promise<string | null> {
    const row = this.#sql
      .exec<{ public_key: string }>("SELECT public_key FROM hosts WHERE id = ?", host)
      .toArray()[0];
    return row?.public_key ?? null;
  }

  /** From the HostObject. News of an older epoch come too late. */
  async hostNews(host: string, news: HostNews): Promise<void> {
    this.#sql.exec(
      `UPDATE hosts SET status = ?, epoch = ?, last_seen_at = ?, capacity = coalesce(?, capacity),
         version = coalesce(?, version) WHERE id = ? AND epoch <= ?`,
      news.status,
      news.epoch,
      news.last_seen_at,
      news.capacity ? JSON.stringify(news.capacity) : null,
      news.version ?? null,
      host,
      news.epoch,
    );
    this.#log.changed(host);
  }

  async hosts(): Promise<Host[]> {
    return this.#rows().map(toHost);
  }

  async host(id: string): Promise<Answer<Host>> {
    const [row] = this.#rows(id);
    return row ? ok(toHost(row)) : refuse("NOT_FOUND", "No such host");
  }

  /** Whoever lets sessions come again ends a drain. */
  async cordon(id: string, cordoned: boolean): Promise<Answer<Host>> {
    this.#sql.exec("UPDATE hosts SET cordoned = ? WHERE id = ?", cordoned ? 1 : 0, id);
    if (!cordoned) this.#sql.exec("DELETE FROM drains WHERE host = ?", id);
    this.#log.changed(id);
    return this.host(id);
  }

  /** Places nothing new there and says so of its drain; whoever asks stops the sessions. */
  async drain(id: string): Promise<Answer<{ host: Host; placed: Placed[] }>> {
    const placed = await this.sessionsOn(id);
    if (this.#rows(id).length > 0)
      this.#sql.exec(
        "INSERT OR REPLACE INTO drains (host, sessions, began_at) VALUES (?, ?, ?)",
        id,
        placed.length,
        Date.now(),
      );
    const answer = await this.cordon(id, true);
    return "failure" in answer ? answer : ok({ host: answer.value, placed });
  }

  async remove(id: string): Promise<void> {
    this.#sql.exec("DELETE FROM hosts WHERE id = ?", id);
    this.#sql.exec("DELETE FROM drains WHERE host = ?", id);
    this.#log.changed(id);
  }

  async sessionsOn(host: string): Promise<Placed[]> {
    return this.#sql
      .exec<{ session: string; tenant: string }>(
        "SELECT session, tenant FROM reservations WHERE host = ?",
        host,
      )
      .toArray();
  }

  /** Those that live, each with the host that it is on. */
  async sessionsOf(tenant: string): Promise<{ session: string; host: string }[]> {
    return this.#sql
      .exec<{ session: string; host: string }>(
        "SELECT session, host FROM reservations WHERE tenant = ? ORDER BY session",
        tenant,
      )
      .toArray();
  }

  async reserve(wanted: Reservation): Promise<Answer<Reserved>> {
    const held = this.#sql
      .exec<{ host: string }>("SELECT host FROM reservations WHERE session = ?", wanted.session)
      .toArray()[0];
    const { tenant, shares } = wanted;
    const own = this.#holdingsOnHosts(tenant);
    const hosts = this.#rows().map((row) => ({ ...toCandidate(row), own: own.get(row.id) }));
    if (held) return ok(placedOn(hosts, held.host, wanted));
    const has = this.#holdings(tenant);
    const later = { retry_after_s: 5 };
    const limit = shares.sessions ?? (maxSessionsPerTenant(this.env) || Number.POSITIVE_INFINITY);
    if (has.sessions >= limit)
      return refuse("SESSION_LIMIT", `The tenant has ${has.sessions} of ${limit} sessions`, later);
    const placement = place(hosts, wanted);
    if ("never" in placement) return refuse("LIMIT_EXCEEDED", placement.reason);
    if ("unsupported" in placement) return refuse("UNSUPPORTED_BY_ENGINE", placement.reason);
    if ("share" in placement) return refuse("QUOTA_EXCEEDED", placement.reason, later);
    const now = Date.now();
    if ("reason" in placement) {
      this.#turns.refused(tenant, { ...wanted, host_percent: 100 }, now);
      return refuse("NO_HOST_AVAILABLE", placement.reason, later);
    }
    for (const name of ["memory_mb", "cpus"] as const) {
      const most = shares[name];
      if (most !== null && has[name] + placement[name] > most)
        return refuse(
          "QUOTA_EXCEEDED",
          `${name}: the tenant's sessions have ${has[name]} of ${most}, and this one needs ${placement[name]}`,
          later,
        );
    }
    if (this.#turns.mustYield(tenant, placement, hosts, (one) => this.#holdings(one).sessions, now))
      return refuse("NO_HOST_AVAILABLE", "Every host is full but for tenants that have less", later);
    this.#turns.served(tenant);
    this.#sql.exec(
      "INSERT INTO reservations (session, tenant, host, memory_mb, cpus) VALUES (?, ?, ?, ?, ?)",
      wanted.session,
      tenant,
      placement.host,
      placement.memory_mb,
      placement.cpus,
    );
    this.#log.changed(placement.host);
    return ok(placedOn(hosts, placement.host, wanted));
  }

  async release(session: string): Promise<void> {
    const released = this.#sql.exec<{ host: string }>(
      "DELETE FROM reservations WHERE session = ? RETURNING host",
      session,
    );
    for (const { host } of released) this.#log.changed(host);
    this.#claimed.delete(session);
  }

  /** A creation that was cut off right after its reservation has left nothing else. */
  async #releaseOrphans(now: number): Promise<void> {
    const kept = this.#sql
      .exec<{ session: string; tenant: string }>("SELECT session, tenant FROM reservations")
      .toArray();
    for (const { session, tenant } of kept) {
      if (this.#claimed.has(session) || now - timeOfId(session) < ORPHAN_MS) continue;
      const found = await sessionObject(this.env, tenant, session).describe();
      if ("value" in found) this.#claimed.add(session);
      else if (found.failure.code === "NOT_FOUND") await this.release(session);
    }
  }

  async reservationsByTenant(): Promise<{ tenant: string; sessions: number }[]> {
    return this.#sql
      .exec<{ tenant: string; sessions: number }>(
        "SELECT tenant, count(*) AS sessions FROM reservations GROUP BY tenant ORDER BY tenant",
      )
      .toArray();
  }

  /** What a tenant's sessions have reserved. */
  async holdings(tenant: string): Promise<Holdings> {
    return this.#holdings(tenant);
  }

  #holdings(tenant: string): Holdings {
    return this.#sql
      .exec<{ sessions: number; memory_mb: number; cpus: number }>(
        `SELECT count(*) AS sessions, coalesce(sum(memory_mb), 0) AS memory_mb, coalesce(sum(cpus), 0) AS cpus
         FROM reservations WHERE tenant = ?`,
        tenant,
      )
      .one();
  }

  #holdingsOnHosts(tenant: string): Map<string, { sessions: number; memory_mb: number }> {
    const rows = this.#sql.exec<{ host: string; sessions: number; memory_mb: number }>(
      "SELECT host, count(*) AS sessions, sum(memory_mb) AS memory_mb FROM reservations WHERE tenant = ? GROUP BY host",
      tenant,
    );
    return new Map([...rows].map(({ host, ...has }) => [host, has]));
  }

  /** Fleets of before CPUs were counted. */
  #addCpus(): void {
    const columns = this.#sql.exec<{ name: string }>("SELECT name FROM pragma_table_info('reservations')");
    if (![...columns].some(({ name }) => name === "cpus"))
      this.#sql.exec("ALTER TABLE reservations ADD COLUMN cpus REAL NOT NULL DEFAULT 1");
  }

  async prune(): Promise<void> {
    const now = Date.now();
    this.#enrollments.prune(now);
    await this.#releaseOrphans(now);
    await this.#drainOn();
  }

  /** Whoever began a drain may have been cut off before every session had heard of it. */
  async #drainOn(): Promise<void> {
    const left = this.#sql
      .exec<{ session: string; tenant: string }>(
        "SELECT session, tenant FROM reservations WHERE host IN (SELECT host FROM drains)",
      )
      .toArray();
    await Promise.allSettled(
      left.map(({ session, tenant }) => sessionObject(this.env, tenant, session).stop("drained")),
    );
  }

  #rows(id?: string): HostRow[] {
    const query = `SELECT h.*, count(r.session) AS sessions, coalesce(sum(r.memory_mb), 0) AS reserved_mb,
        d.sessions AS drain_sessions, d.began_at AS drain_began_at
      FROM hosts h LEFT JOIN reservations r ON r.host = h.id LEFT JOIN drains d ON d.host = h.id`;
    return id === undefined
      ? this.#sql.exec<HostRow>(`${query} GROUP BY h.id ORDER BY h.id`).toArray()
      : this.#sql.exec<HostRow>(`${query} WHERE h.id = ? GROUP BY h.id`, id).toArray();
  }
}

const parseCapacity = (row: HostRow): Capacity | null =>
  row.capacity === null ? null : JSON.parse(row.capacity);

function placedOn(hosts: readonly Candidate[], id: string, need: Need): Reserved {
  const host = hosts.find((candidate) => candidate.id === id);
  // One that was removed, or can no longer do it, says so itself.
  const { engine, capabilities } = (host && (offerFor(host, need) ?? offersOf(host)[0])) ?? {
    engine: USUAL_ENGINE,
    capabilities: [],
  };
  const defaults = host?.capacity?.default_limits;
  return { host_id: id, engine, capabilities, ...(defaults && { default_limits: defaults }) };
}

function toCandidate(row: HostRow): Candidate {
  return { ...row, cordoned: row.cordoned === 1, capacity: parseCapacity(row) };
}

function toDrain({ drain_sessions, drain_began_at, sessions }: HostRow): HostDrain | null {
  if (drain_sessions === null || drain_began_at === null) return null;
  return {
    state: sessions > 0 ? "draining" : "drained",
    sessions: Math.max(drain_sessions, sessions),
    left: sessions,
    began_at: new Date(drain_began_at).toISOString(),
  };
}

function toHost(row: HostRow): Host {
  return {
    id: row.id,
    name: row.name,
    status: row.status,
    cordoned: row.cordoned === 1,
    drain: toDrain(row),
    sessions: row.sessions,
    memory_reserved_mb: row.reserved_mb,
    capacity: parseCapacity(row),
    version: row.version,
    epoch: row.epoch,
    joined_at: new Date(row.joined_at).toISOString(),
    last_seen_at: row.last_seen_at === null ? null : new Date(row.last_seen_at).toISOString(),
  };
}
