/** @module What this host offers: room, limits, and the runtimes that stand ready right now. */
import type { Capacity, Language } from "@sandbar/shared";
import type { Config } from "../host/config.ts";
import type { Log } from "../host/log.ts";
import type { Engine } from "./engine.ts";

const POLL_MS = 5000;

export class CapacityWatch {
  readonly #config: Config;
  readonly #engine: Pick<Engine, "runtimes">;
  readonly #log: Log;
  #runtimes: Language[] = [];
  #timer: NodeJS.Timeout | null = null;

  constructor(config: Config, engine: Pick<Engine, "runtimes">, log: Log) {
    this.#config = config;
    this.#engine = engine;
    this.#log = log;
  }

  get current(): Capacity {
    const { maxSessions, memoryMb, cpus, defaults, maxima } = this.#config;
    const limits: Record<string, number> = { ...defaults };
    for (const [key, value] of Object.entries(maxima)) limits[`max_${key}`] = value;
    return {
      max_sessions: maxSessions,
      memory_mb: memoryMb,
      cpus,
      runtimes: this.#runtimes,
      default_limits: limits,
    };
  }

  async start(onChange: (capacity: Capacity) => void): Promise<void> {
    await this.#look();
    this.#timer = setInterval(async () => {
      if (await this.#look()) onChange(this.current);
    }, POLL_MS);
  }

  stop(): void {
    if (this.#timer) clearInterval(this.#timer);
  }

  async #look(): Promise<boolean> {
    try {
      const found = await this.#engine.runtimes();
      const changed = found.join() !== this.#runtimes.join();
      this.#runtimes = found;
      return changed;
    } catch (error) {
      this.#log.warn({ err: error }, "the engine does not answer");
      return false;
    }
  }
}
