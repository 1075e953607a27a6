/** @module The fleet: which hosts there are, and which session has its place on which. One per deployment. */
import { DurableObject } from "cloudflare:workers";
import { type Capacity, type Host, type Language, newId, timeOfId } from "@sandbar/shared";
import { type Answer, ok, refuse } from "../answer.ts";
import { type Env, maxSessionsPerTenant } from "../env.ts";
import { sessionObject } from "../rpc.ts";
import { sha256Hex } from "../tokens.ts";
import { ENROLLMENT_SCHEMA, Enrollments } from "./enrollments.ts";
import { HostLog, type HostLogPage } from "./host-log.ts";
import { type Candidate, place } from "./placement.ts";

const SCHEMA = [
  `CREATE TABLE IF NOT EXISTS hosts (id TEXT PRIMARY KEY, name TEXT NOT NULL, public_key TEXT NOT NULL,
     status TEXT NOT NULL, cordoned INTEGER NOT NULL DEFAULT 0, capacity TEXT, version TEXT,
     epoch INTEGER NOT NULL DEFAULT 0, joined_at INTEGER NOT NULL, last_seen_at INTEGER)`,
  `CREATE TABLE IF NOT EXISTS reservations (session TEXT PRIMARY KEY, tenant TEXT NOT NULL, host TEXT NOT NULL,
     memory_mb INTEGER NOT NULL)`,
  "CREATE INDEX IF NOT EXISTS reservations_by_host ON reservations (host)",
  "CREATE INDEX IF NOT EXISTS reservations_by_tenant ON reservations (tenant)",
  ENROLLMENT_SCHEMA,
];

const HOST_LIMIT = 10_000;
/** Between its reservation and its first write no creation takes this long. */
const ORPHAN_MS = 60_000;

export interface Reservation {
  readonly session: string;
  readonly tenant: string;
  readonly runtime: Language;
  readonly image: string | null;
  readonly memory_mb: number | null;
  /** The only host that will do, because the session's volumes lie there. */
  readonly host: string | null;
}

interface Reserved {
  readonly host_id: string;
  readonly default_limits?: Record<string, number>;
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

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#sql = ctx.storage.sql;
    for (const statement of SCHEMA) this.#sql.exec(statement);
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

  async cordon(id: string, cordoned: boolean): Promise<Answer<Host>> {
    this.#sql.exec("UPDATE hosts SET cordoned = ? WHERE id = ?", cordoned ? 1 : 0, id);
    this.#log.changed(id);
    return this.host(id);
  }

  async remove(id: string): Promise<void> {
    this.#sql.exec("DELETE FROM hosts WHERE id = ?", id);
    this.#log.changed(id);
  }

  async sessionsOn(host: string): Promise<{ session: string; tenant: string }[]> {
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
    const hosts = this.#rows().map(toCandidate);
    if (held) return ok(placedOn(hosts, held.host));
    const limit = maxSessionsPerTenant(this.env);
    const { n } = this.#sql
      .exec<{ n: number }>("SELECT count(*) AS n FROM reservations WHERE tenant = ?", wanted.tenant)
      .one();
    if (limit > 0 && n >= limit)
      return refuse("SESSION_LIMIT", `The tenant has ${n} of ${limit} sessions`, { retry_after_s: 5 });
    const placement = place(hosts, wanted);
    if ("never" in placement) return refuse("LIMIT_EXCEEDED", placement.reason);
    if ("reason" in placement) return refuse("NO_HOST_AVAILABLE", placement.reason, { retry_after_s: 5 });
    this.#sql.exec(
      "INSERT INTO reservations VALUES (?, ?, ?, ?)",
      wanted.session,
      wanted.tenant,
      placement.host,
      placement.memory_mb,
    );
    this.#log.changed(placement.host);
    return ok(placedOn(hosts, placement.host));
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

  async prune(): Promise<void> {
    const now = Date.now();
    this.#enrollments.prune(now);
    await this.#releaseOrphans(now);
  }

  #rows(id?: string): HostRow[] {
    const query = `SELECT h.*, count(r.session) AS sessions, coalesce(sum(r.memory_mb), 0) AS reserved_mb
      FROM hosts h LEFT JOIN reservations r ON r.host = h.id`;
    return id === undefined
      ? this.#sql.exec<HostRow>(`${query} GROUP BY h.id ORDER BY h.id`).toArray()
      : this.#sql.exec<HostRow>(`${query} WHERE h.id = ? GROUP BY h.id`, id).toArray();
  }
}

const parseCapacity = (row: HostRow): Capacity | null =>
  row.capacity === null ? null : JSON.parse(row.capacity);

function placedOn(hosts: readonly Candidate[], host: string): Reserved {
  const defaults = hosts.find(({ id }) => id === host)?.capacity?.default_limits;
  return defaults ? { host_id: host, default_limits: defaults } : { host_id: host };
}

function toCandidate(row: HostRow): Candidate {
  return { ...row, cordoned: row.cordoned === 1, capacity: parseCapacity(row) };
}

function toHost(row: HostRow): Host {
  return {
    id: row.id,
    name: row.name,
    status: row.status,
    cordoned: row.cordoned === 1,
    sessions: row.sessions,
    memory_reserved_mb: row.reserved_mb,
    capacity: parseCapacity(row),
    version: row.version,
    epoch: row.epoch,
    joined_at: new Date(row.joined_at).toISOString(),
    last_seen_at: row.last_seen_at === null ? null : new Date(row.last_seen_at).toISOString(),
  };
}
