/**
 * Changes of hosts, for operators who watch. What was changed is looked at a moment later and told if it is not what was
 * told last, so a reservation costs nothing more, and a reset in between is made good at the next start.
 *
 * @module
 */
import type { Host, HostNews } from "@sandbar/shared";
import { Signal } from "../session/signal.ts";
import { EventLog } from "../tenant/event-log.ts";

const SCHEMA = "CREATE TABLE IF NOT EXISTS told_hosts (id TEXT PRIMARY KEY, json TEXT NOT NULL)";
const LIMITS = { events: 5_000, ageMs: 24 * 3600_000 };
const PAUSE_MS = 400;
const TOPIC = "hosts";

export interface HostLogPage {
  readonly hosts: HostNews[];
  /** Of the last of them. */
  readonly position: number;
  /** What followed the position is not known any more. */
  readonly reset: boolean;
}

export class HostLog {
  readonly #sql: SqlStorage;
  readonly #hosts: (id?: string) => Host[];
  readonly #log: EventLog;
  readonly #signal = new Signal();
  readonly #changed = new Set<string>();
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(sql: SqlStorage, hosts: (id?: string) => Host[]) {
    this.#sql = sql;
    this.#hosts = hosts;
    sql.exec(SCHEMA);
    this.#log = new EventLog(sql, LIMITS);
    const told = sql.exec<{ id: string }>("SELECT id FROM told_hosts").toArray();
    for (const { id } of [...hosts(), ...told]) this.changed(id);
  }

  changed(host: string): void {
    this.#changed.add(host);
    this.#timer ??= setTimeout(() => this.#tell(), PAUSE_MS);
  }

  async after(position: number | null, waitMs: number): Promise<HostLogPage> {
    if (position === null) return { hosts: [], position: this.#log.last, reset: false };
    if (position === this.#log.last) await this.#signal.wait(TOPIC, waitMs);
    const page = this.#log.after(position);
    if (page === null) return { hosts: [], position, reset: false };
    if ("gone" in page) return { hosts: [], position: this.#log.last, reset: true };
    return { hosts: page.events.map(({ data }) => data as HostNews), position: page.last, reset: false };
  }

  #tell(): void {
    this.#timer = null;
    const ids = [...this.#changed];
    this.#changed.clear();
    const news: HostNews[] = [];
    for (const id of ids) {
      const [host] = this.#hosts(id);
      const before = this.#told(id);
      if (!host) {
        if (before) news.push({ ...JSON.parse(before), removed: true });
        this.#sql.exec("DELETE FROM told_hosts WHERE id = ?", id);
        continue;
      }
      // A heartbeat is no change.
      if (before && same(JSON.parse(before), host)) continue;
      news.push(host);
      this.#sql.exec("INSERT OR REPLACE INTO told_hosts VALUES (?, ?)", id, JSON.stringify(host));
    }
    if (news.length === 0) return;
    this.#log.append(
      news.map((data) => ({ type: "host", data })),
      Date.now(),
    );
    this.#signal.wake(TOPIC);
  }

  #told(id: string): string | null {
    const row = this.#sql.exec<{ json: string }>("SELECT json FROM told_hosts WHERE id = ?", id).toArray()[0];
    return row?.json ?? null;
  }
}

function same(a: Host, b: Host): boolean {
  return JSON.stringify({ ...a, last_seen_at: null }) === JSON.stringify({ ...b, last_seen_at: null });
}
