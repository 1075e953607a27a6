/** @module One operator's view of the fleet's log: asks for what follows while the reader is there. */
import type { Env } from "../env.ts";
import type { HostLogPage } from "../fleet/host-log.ts";
import { fleetObject } from "../rpc.ts";

const WAIT_MS = 15_000;
const AGAIN_MS = 1_000;

export class HostFeed {
  readonly #env: Env;
  readonly #wake: () => void;
  readonly start: number;
  #asked: number;
  #ready: HostLogPage | null = null;
  #taken = Promise.withResolvers<void>();
  #closed = false;

  private constructor(env: Env, start: number, wake: () => void) {
    this.#env = env;
    this.#wake = wake;
    this.start = start;
    this.#asked = start;
    void this.#follow();
  }

  static async open(env: Env, after: number | null, wake: () => void): Promise<HostFeed> {
    return new HostFeed(env, after ?? (await fleetObject(env).hostEvents(null, 0)).position, wake);
  }

  /** What has come, once. */
  take(): HostLogPage | null {
    const page = this.#ready;
    this.#ready = null;
    if (page) this.#taken.resolve();
    return page;
  }

  close(): void {
    this.#closed = true;
    this.#taken.resolve();
  }

  async #follow(): Promise<void> {
    while (!this.#closed) {
      try {
        const page = await fleetObject(this.#env).hostEvents(this.#asked, WAIT_MS);
        if (page.position === this.#asked && !page.reset) continue;
        this.#asked = page.position;
        this.#ready = page;
        this.#taken = Promise.withResolvers();
        this.#wake();
        await this.#taken.promise;
      } catch (error) {
        console.error("hosts cannot be followed now", error);
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
      }
    }
  }
}
