/**
 * One box of the warm pool: a sandbox with a ready kernel that belongs to nobody, until it belongs to one session for good.
 *
 * @module
 */
import type { SessionSpec } from "@sandbar/shared";
import type { Box, BoxListener } from "../engine/box.ts";
import type { Engine } from "../engine/engine.ts";
import type { GuestHello } from "../guest/guest-channel.ts";
import type { Config } from "../host/config.ts";
import type { Log } from "../host/log.ts";
import type { Journal, PoolRow } from "../journal/journal.ts";

export interface PooledBoxOptions {
  readonly row: PoolRow;
  readonly spec: SessionSpec;
  readonly context: string;
  readonly config: Config;
  readonly engine: Engine;
  readonly journal: Journal;
  readonly log: Log;
  /** It can no longer be used. */
  onLost(reason: string): void;
}

export class PooledBox {
  readonly box: Box;
  readonly row: PoolRow;
  readonly spec: SessionSpec;
  readonly #options: PooledBoxOptions;
  readonly #warm = Promise.withResolvers<void>();
  #hello: GuestHello | null = null;
  #isWarm = false;
  #given = false;
  /** Settles when nothing is being done to the box any more. */
  working: Promise<void> = Promise.resolve();

  constructor(options: PooledBoxOptions) {
    const { row, spec, engine, log } = options;
    this.#options = options;
    this.row = row;
    this.spec = spec;
    const listener: BoxListener = {
      onHello: (hello) => this.#onHello(hello),
      onMessage: (message) => {
        if (message.type !== "context" || message.context !== options.context) return;
        if (message.state === "ready") this.#ready();
        if (message.state === "dead") this.#lost(`the kernel ended: ${message.detail}`);
      },
      onDown: () => {
        this.#hello = null;
        this.#lost("the guest went away");
      },
      // Nobody's code runs in it yet.
      onProxied: (socket) => socket.destroy(),
      onViolations: (reason) => this.#lost(reason),
    };
    this.box = engine.box({
      id: row.box,
      session: null,
      spec,
      token: row.token,
      log: log.child({ box: row.box }),
      listener,
    });
    this.#warm.promise.catch(() => {});
  }

  get claimable(): boolean {
    return this.#isWarm && this.#hello !== null && this.box.channel?.connected === true;
  }

  async make(): Promise<void> {
    const { journal } = this.#options;
    journal.savePoolBox(this.row);
    await this.box.make({
      step() {},
      onSandbox: (sandbox) => {
        this.row.sandbox = sandbox;
        journal.savePoolBox(this.row);
      },
    });
    await this.#whenWarm();
  }

  async adopt(): Promise<void> {
    this.row.warm = 0;
    this.#options.journal.savePoolBox(this.row);
    // The earlier daemon may have died before its guest had the token; nobody else can have dialled.
    await this.box.adopt(this.row.sandbox!, false);
    await this.#whenWarm();
  }

  /** From here on the guest speaks to the session, and never to anybody else. */
  handTo(listener: BoxListener): GuestHello | null {
    this.#given = true;
    this.box.listener = listener;
    return this.box.channel?.connected ? this.#hello : null;
  }

  /** Ends the wait for its kernel. */
  giveUp(reason: string): void {
    this.#isWarm = false;
    this.#warm.reject(new Error(reason));
  }

  async #whenWarm(): Promise<void> {
    const { config, journal } = this.#options;
    const timer = setTimeout(() => this.#lost("the kernel was not ready in time"), config.startTimeoutMs);
    await this.#warm.promise.finally(() => clearTimeout(timer));
    this.row.warm = 1;
    // A claim may have come first; then the row is the session's and must not come back.
    if (!this.#given) journal.savePoolBox(this.row);
  }

  #onHello(hello: GuestHello): void {
    const { context, spec } = this.#options;
    this.#hello = hello;
    const known = hello.contexts.find((open) => open.context === context);
    if (known?.state === "ready") this.#ready();
    else if (known?.state === "dead") this.#lost("the kernel ended");
    else if (!hello.languages.includes(spec.runtime)) this.#lost(`the image cannot run ${spec.runtime}`);
    else if (!known)
      this.box.channel?.send({ type: "context.open", context, language: spec.runtime, env: {} });
  }

  #ready(): void {
    this.#isWarm = true;
    this.#warm.resolve();
  }

  #lost(reason: string): void {
    this.giveUp(reason);
    this.#options.onLost(reason);
  }
}
