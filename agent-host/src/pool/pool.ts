/**
 * The warm pool: boxes with a ready kernel, made in the background and given away once each. A box's row leaves the journal's
 * pool in the very transaction that writes the session which gets it, so no crash can hand it out twice.
 *
 * @module
 */
import { randomBytes } from "node:crypto";
import { type HostLoad, type Language, newId, type SessionSpec } from "@sandbar/shared";
import type { Engine, FoundSandbox } from "../engine/engine.ts";
import type { Config } from "../host/config.ts";
import type { Figures } from "../host/figures.ts";
import type { Log } from "../host/log.ts";
import type { Journal, PoolRow } from "../journal/journal.ts";
import { boxSpec, poolKey, poolSpec } from "./pool-key.ts";
import { Demand } from "./pool-target.ts";
import { PooledBox } from "./pooled-box.ts";

const AT_ONCE = 2;
/** A refill waits for this much quiet after a claim, whose first cell wants the CPU. */
const QUIET_MS = 1000;
const LONGEST_WAIT_MS = 5000;
const TEND_MS = 5000;
const STALE_LOOK_MS = 30_000;
const AFTER_FAILURE_MS = 15_000;
const KINDS = 16;

export interface PoolOptions {
  readonly config: Config;
  readonly engine: Engine;
  readonly journal: Journal;
  readonly log: Log;
  readonly figures: Pick<Figures, "claimed">;
  /** How many more sessions this host may have. */
  room(): number;
  /** Whether a session is being made from nothing just now. */
  busy(): boolean;
}

interface Shelf {
  readonly key: string;
  readonly spec: SessionSpec;
  readonly context: string;
  readonly size: number;
  readonly demand: Demand;
  readonly boxes: Set<PooledBox>;
  retryAt: number;
}

export class Pool {
  readonly #options: PoolOptions;
  readonly #shelves = new Map<string, Shelf>();
  readonly #removing = new Map<string, Promise<void>>();
  #making = 0;
  #claimedAt = 0;
  #waitingSince = 0;
  #lookedAt = 0;
  #timer: NodeJS.Timeout | null = null;
  #runs = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    const { config } = options;
    for (const runtime of Object.keys(config.pool.sizes) as (keyof typeof config.images)[]) {
      const spec = poolSpec(config, runtime);
      this.#shelf(this.#key(runtime, spec)!, spec, runtime, config.pool.sizes[runtime]!);
    }
  }

  owns(box: string): boolean {
    return this.#removing.has(box) || this.#boxes().some((pooled) => pooled.row.box === box);
  }

  /** Of each language: how many a session could have at once, and how many there should be. */
  shelves(): HostLoad["pool"] {
    const counts = new Map<Language, { ready: number; wanted: number }>();
    for (const shelf of this.#shelves.values()) {
      const sum = counts.get(shelf.spec.runtime) ?? { ready: 0, wanted: 0 };
      for (const pooled of shelf.boxes) if (pooled.claimable) sum.ready++;
      sum.wanted += this.#target(shelf);
      counts.set(shelf.spec.runtime, sum);
    }
    return Array.from(counts, ([runtime, sum]) => ({ runtime, ...sum }));
  }

  /** Boxes of an earlier daemon: their guests dial again. */
  async adopt(found: readonly FoundSandbox[]): Promise<void> {
    const { journal, log } = this.#options;
    for (const row of journal.poolBoxes()) {
      const shelf = this.#shelfOf(row.key);
      const sandbox = found.find(({ id }) => id === row.sandbox);
      const fits = shelf && sandbox?.running && row.fingerprint === (await this.#fingerprint(shelf));
      const pooled = this.#pooled(row, shelf ?? null);
      shelf?.boxes.add(pooled);
      if (fits) {
        // As many as there were must have been wanted.
        shelf.demand.asked(Date.now());
        void this.#warm(shelf, pooled, () => pooled.adopt());
      } else void this.#discard(pooled, "left by an earlier daemon");
    }
    log.info({ boxes: this.#boxes().length }, "pool adopted");
  }

  start(): void {
    this.#runs = true;
    this.#tend();
  }

  stop(): void {
    this.#runs = false;
    if (this.#timer) clearTimeout(this.#timer);
  }

  async drain(): Promise<void> {
    this.stop();
    for (const pooled of this.#boxes()) void this.#discard(pooled, "drained");
    await Promise.all(this.#removing.values());
  }

  /** Within the transaction that journals the session: the box is no longer the pool's, whatever happens next. */
  take(context: string, spec: SessionSpec): PooledBox | null {
    const { config, journal } = this.#options;
    const key = this.#key(context, spec);
    if (key === null || config.pool.max === 0) return null;
    const now = Date.now();
    const shelf = this.#shelf(key, boxSpec(config, spec), context, 0);
    if (!shelf) return null;
    shelf.demand.asked(now);
    this.#claimedAt = now;
    const pooled = [...shelf.boxes].find((candidate) => candidate.claimable) ?? null;
    this.#options.figures.claimed(spec.runtime, pooled ? "hit" : "miss");
    if (pooled) {
      shelf.boxes.delete(pooled);
      journal.forgetPoolBox(pooled.row.box);
    }
    if (this.#runs) this.#tendIn(QUIET_MS);
    return pooled;
  }

  onSandboxDeath(sandbox: string): void {
    for (const pooled of this.#boxes())
      if (pooled.row.sandbox === sandbox) void this.#discard(pooled, "its sandbox ended");
  }

  #boxes(): PooledBox[] {
    return [...this.#shelves.values()].flatMap((shelf) => [...shelf.boxes]);
  }

  #shelf(key: string, spec: SessionSpec, context: string, size: number): Shelf | null {
    let shelf = this.#shelves.get(key);
    if (!shelf && this.#shelves.size < KINDS) {
      const demand = new Demand(Date.now());
      shelf = { key, spec, context, size, demand, boxes: new Set(), retryAt: 0 };
      this.#shelves.set(key, shelf);
    }
    return shelf ?? null;
  }

  /** A pool that only demand had made is known by its key alone. */
  #shelfOf(key: string): Shelf | null {
    const { config } = this.#options;
    const { context, ...made } = JSON.parse(key);
    const spec: SessionSpec = { ...poolSpec(config, made.runtime), ...made };
    return this.#key(context, spec) === key ? this.#shelf(key, spec, context, 0) : null;
  }

  #key(context: string, spec: SessionSpec): string | null {
    const { config, engine } = this.#options;
    return poolKey(config, context, spec, engine.lateMounts);
  }

  #fingerprint(shelf: Shelf): Promise<string | null> {
    return this.#options.engine.fingerprint(shelf.spec, shelf.key);
  }

  #pooled(row: PoolRow, shelf: Shelf | null): PooledBox {
    const { config, engine, journal, log } = this.#options;
    const spec = shelf?.spec ?? poolSpec(config, "python");
    const pooled = new PooledBox({
      row,
      spec,
      context: shelf?.context ?? "",
      config,
      engine,
      journal,
      log,
      onLost: (reason) => void this.#discard(pooled, reason),
    });
    return pooled;
  }

  #target(shelf: Shelf): number {
    const { pool } = this.#options.config;
    return shelf.demand.target({ ...pool, size: shelf.size }, Date.now());
  }

  #tendIn(ms: number): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#tend(), ms);
  }

  #tend(): void {
    if (!this.#runs) return;
    const { room, busy } = this.#options;
    const now = Date.now();
    let left = room();
    const wanting: Shelf[] = [];
    for (const shelf of this.#shelves.values()) {
      const target = Math.min(left, this.#target(shelf));
      left -= target;
      for (const pooled of [...shelf.boxes].slice(target)) void this.#discard(pooled, "not needed");
      if (shelf.boxes.size < target && now >= shelf.retryAt) wanting.push(shelf);
    }
    if (now - this.#lookedAt >= STALE_LOOK_MS) {
      this.#lookedAt = now;
      for (const shelf of this.#shelves.values()) void this.#dropStale(shelf);
    }
    const quiet = now - this.#claimedAt >= QUIET_MS && !busy();
    this.#waitingSince = wanting.length === 0 ? 0 : this.#waitingSince || now;
    if (wanting.length && (quiet || now - this.#waitingSince >= LONGEST_WAIT_MS))
      while (this.#making < AT_ONCE && wanting.length) {
        const shelf = wanting.shift()!;
        void this.#make(shelf);
        if (shelf.boxes.size < this.#target(shelf)) wanting.push(shelf);
      }
    this.#tendIn(wanting.length && !quiet ? QUIET_MS : TEND_MS);
  }

  async #make(shelf: Shelf): Promise<void> {
    const row: PoolRow = {
      box: newId("box"),
      key: shelf.key,
      sandbox: null,
      token: randomBytes(32).toString("base64url"),
      fingerprint: "",
      warm: 0,
    };
    const pooled = this.#pooled(row, shelf);
    shelf.boxes.add(pooled);
    await this.#warm(shelf, pooled, async () => {
      const made = await this.#fingerprint(shelf);
      if (made === null) throw new Error("what it is made of is not on this host");
      row.fingerprint = made;
      await pooled.make();
    });
  }

  async #warm(shelf: Shelf, pooled: PooledBox, work: () => Promise<void>): Promise<void> {
    const { log } = this.#options;
    const began = performance.now();
    this.#making++;
    pooled.working = work();
    try {
      await pooled.working;
      this.#waitingSince = 0;
      log.debug({ box: pooled.row.box, ms: Math.round(performance.now() - began) }, "a box is warm");
    } catch (error) {
      if (!this.#removing.has(pooled.row.box)) shelf.retryAt = Date.now() + AFTER_FAILURE_MS;
      void this.#discard(pooled, (error as Error).message);
    } finally {
      this.#making--;
      if (this.#runs) this.#tendIn(0);
    }
  }

  /** An image that was built anew, or a guest of another version, is not what a session should get. */
  async #dropStale(shelf: Shelf): Promise<void> {
    if (shelf.boxes.size === 0) return;
    try {
      const now = await this.#fingerprint(shelf);
      for (const pooled of [...shelf.boxes])
        if (pooled.claimable && pooled.row.fingerprint !== now) void this.#discard(pooled, "out of date");
    } catch (error) {
      this.#options.log.warn({ err: error }, "could not look at a pool's image");
    }
  }

  #discard(pooled: PooledBox, reason: string): Promise<void> {
    const { box } = pooled.row;
    const known = this.#removing.get(box);
    if (known) return known;
    for (const shelf of this.#shelves.values()) shelf.boxes.delete(pooled);
    this.#options.log.info({ box, reason }, "a box leaves the pool");
    const removed = this.#remove(pooled).finally(() => this.#removing.delete(box));
    this.#removing.set(box, removed);
    if (this.#runs) this.#tendIn(QUIET_MS);
    return removed;
  }

  async #remove(pooled: PooledBox): Promise<void> {
    const { engine, journal, log } = this.#options;
    pooled.giveUp("it is being removed");
    await pooled.working.catch(() => {});
    try {
      await pooled.box.destroy();
      // The sandbox may have been made after the journal was last written.
      for (const { id, box } of await engine.list()) if (box === pooled.row.box) await engine.remove(id);
      journal.forgetPoolBox(pooled.row.box);
    } catch (error) {
      // The row stays, and the sweep finds what is left.
      log.warn({ err: error, box: pooled.row.box }, "could not remove a box of the pool");
    }
  }
}
