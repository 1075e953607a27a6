/**
 * What the sessions of this host use: one loop looks at all of them every few seconds. The samples are in memory only; a
 * daemon that starts anew begins them anew.
 *
 * @module
 */
import { setImmediate as breathe, setTimeout as sleep } from "node:timers/promises";
import {
  type CallHandlers,
  type MethodsOf,
  SAMPLE_INTERVAL_MS,
  SAMPLE_LIMIT,
  SandbarError,
  type WireSample,
} from "@sandbar/shared";
import type { BoxUsage } from "../engine/box.ts";
import type { Log } from "../host/log.ts";
import { SampleRing } from "./sample-ring.ts";

/** Over less time than this a share of the CPU says nothing. */
const SHORTEST_MS = 250;
/** Of all sessions in one answer, which has to fit a frame. */
const ANSWER_LIMIT = 20_000;

export interface MeteredSession {
  readonly id: string;
  readonly tenant: string;
  usage(): Promise<BoxUsage | null>;
}

export class Metrics {
  readonly #running: () => MeteredSession[];
  readonly #log: Log;
  readonly #rings = new Map<string, SampleRing>();
  #timer: NodeJS.Timeout | null = null;
  #stopped = false;

  constructor(running: () => MeteredSession[], log: Log) {
    this.#running = running;
    this.#log = log;
  }

  start(): void {
    this.#timer = setTimeout(async () => {
      await this.#look();
      if (!this.#stopped) this.start();
    }, SAMPLE_INTERVAL_MS);
  }

  stop(): void {
    this.#stopped = true;
    if (this.#timer) clearTimeout(this.#timer);
  }

  /** Of one session. */
  async samples(session: MeteredSession): Promise<{ samples: WireSample[] }> {
    const samples = await this.#samplesOf(session, SAMPLE_LIMIT);
    if (!samples) throw new SandbarError("HOST_ERROR", "this host cannot tell what the session uses");
    return { samples };
  }

  /** Of all sessions together, by the newest samples. */
  total(what: "cpu" | "memory" | "processes" | "disk"): number {
    let sum = 0;
    for (const ring of this.#rings.values()) {
      const [sample] = ring.newest(1);
      if (!sample) continue;
      const [, percent, memory, processes, disk] = sample;
      sum += { cpu: percent / 100, memory, processes, disk: disk ?? 0 }[what];
    }
    return sum;
  }

  readonly calls: CallHandlers<MethodsOf<"metrics">, []> = {
    "metrics.sessions": async ({ tenant, count }) => {
      const wanted = this.#running().filter((session) => session.tenant === tenant);
      const each = Math.max(1, Math.min(count, Math.floor(ANSWER_LIMIT / Math.max(1, wanted.length))));
      const found = await Promise.all(
        wanted.slice(0, ANSWER_LIMIT).map(async (session) => ({
          session: session.id,
          samples: (await this.#samplesOf(session, each)) ?? [],
        })),
      );
      return { data: found.filter(({ samples }) => samples.length > 0) };
    },
  };

  async #look(): Promise<void> {
    const running = this.#running();
    const ids = new Set(running.map(({ id }) => id));
    for (const id of this.#rings.keys()) if (!ids.has(id)) this.#rings.delete(id);
    for (const session of running) {
      const usage = await this.#read(session);
      if (usage) this.#ringOf(session).add(Date.now(), usage);
      // Cells go first.
      await breathe();
    }
  }

  /** Those that are kept and one of now, which is not; null when nobody counts. */
  async #samplesOf(session: MeteredSession, count: number): Promise<WireSample[] | null> {
    const ring = this.#ringOf(session);
    if (ring.readAt === null) {
      const first = await this.#read(session);
      if (!first) return null;
      if (ring.readAt === null) ring.add(Date.now(), first);
    }
    const early = SHORTEST_MS - (Date.now() - ring.readAt!);
    const kept = () => ring.newest(count);
    // A sample that was just taken is of now.
    if (early > 0 && kept().length > 0) return kept();
    if (early > 0) await sleep(early);
    const usage = await this.#read(session);
    const current = usage && ring.sampleOf(Date.now(), usage);
    return current ? [...kept(), current].slice(-count) : kept();
  }

  async #read(session: MeteredSession): Promise<BoxUsage | null> {
    try {
      return await session.usage();
    } catch (error) {
      // It may have ended a moment ago.
      this.#log.debug({ err: error, session: session.id }, "cannot tell what a session uses");
      return null;
    }
  }

  #ringOf({ id }: MeteredSession): SampleRing {
    let ring = this.#rings.get(id);
    if (!ring) {
      ring = new SampleRing();
      this.#rings.set(id, ring);
    }
    return ring;
  }
}
