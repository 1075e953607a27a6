/** @module What this host offers: room, limits, and the runtimes that stand ready right now. */
import type { Capacity, Language } from "@sandbar/shared";
import type { Config } from "../host/config.ts";
import { diskRefusal } from "../host/free-disk.ts";
import type { Log } from "../host/log.ts";
import type { Engine } from "./engine.ts";

const POLL_MS = 5000;

type Offering = Pick<Engine, "name" | "capabilities" | "runtimes" | "isolation">;

/** Makes room on the disk; what it takes is nobody's wait. */
type OnFullDisk = () => Promise<void>;

export class CapacityWatch {
  readonly #config: Config;
  readonly #engine: Offering;
  readonly #log: Log;
  #runtimes: Language[] = [];
  #refuses: string | null = null;
  readonly #onFullDisk: OnFullDisk;
  #timer: NodeJS.Timeout | null = null;

  constructor(config: Config, engine: Offering, onFullDisk: OnFullDisk, log: Log) {
    this.#config = config;
    this.#engine = engine;
    this.#onFullDisk = onFullDisk;
    this.#log = log;
  }

  get current(): Capacity {
    const { maxSessions, memoryMb, cpus, defaults, maxima } = this.#config;
    const { name, capabilities, isolation } = this.#engine;
    const limits: Record<string, number> = { ...defaults };
    for (const [key, value] of Object.entries(maxima)) limits[`max_${key}`] = value;
    return {
      max_sessions: maxSessions,
      memory_mb: memoryMb,
      cpus,
      runtimes: this.#runtimes,
      engines: [
        {
          engine: name,
          runtimes: this.#runtimes,
          capabilities: [...capabilities],
          ...(isolation !== undefined && { isolation }),
        },
      ],
      default_limits: limits,
      ...(this.#refuses !== null && { refuses: this.#refuses }),
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

  async #lookAtDisk(): Promise<string | null> {
    if (diskRefusal(this.#config) === null) return null;
    await this.#onFullDisk();
    const refuses = diskRefusal(this.#config);
    if (refuses !== this.#refuses && refuses !== null) this.#log.warn({ refuses }, "no new sessions");
    return refuses;
  }

  async #look(): Promise<boolean> {
    try {
      const found = await this.#engine.runtimes();
      const refuses = await this.#lookAtDisk();
      const changed = found.join() !== this.#runtimes.join() || refuses !== this.#refuses;
      this.#runtimes = found;
      this.#refuses = refuses;
      return changed;
    } catch (error) {
      this.#log.warn({ err: error }, "the engine does not answer");
      return false;
    }
  }
}
