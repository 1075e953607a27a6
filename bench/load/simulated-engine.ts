/**
 * An engine whose boxes are simulated guests of a process beside the daemon (`bench/load/simulated-guests.ts`). All else
 * is real: the daemon, its journal, its link, the socket of each box and what is said on it.
 *
 * @module
 */
import { once } from "node:events";
import { mkdir, rm } from "node:fs/promises";
import { connect } from "node:net";
import path from "node:path";
import { createInterface } from "node:readline";
import { boxesFolder } from "@sandbar/agent-host/src/box/box-folders.ts";
import type { Box, BoxListener, BoxOptions, Making } from "@sandbar/agent-host/src/engine/box.ts";
import type { Engine, FoundSandbox } from "@sandbar/agent-host/src/engine/engine.ts";
import { GuestChannel } from "@sandbar/agent-host/src/guest/guest-channel.ts";
import type { Simulated, Wish } from "./simulated-guests.ts";

const sandboxOf = (box: string) => `simulated-${box}`;

/** `guests`: the folder of their process. */
export function simulatedEngine(home: string, guests: string): Engine {
  const ask = async (wish: Wish): Promise<unknown> => {
    const link = connect(path.join(guests, "guests.sock"));
    link.write(`${JSON.stringify(wish)}\n`);
    try {
      const [line] = await once(createInterface({ input: link }), "line");
      return JSON.parse(line);
    } finally {
      link.destroy();
    }
  };
  const list = async (): Promise<FoundSandbox[]> =>
    ((await ask({ wish: "list" })) as Simulated[]).map(({ sandbox, box, session, createdAt }) => ({
      id: sandbox,
      box,
      session,
      createdAt,
      running: true,
    }));
  return {
    name: "container",
    capabilities: [],
    lateMounts: false,
    volumes: null,
    start: async () => {},
    clearAway: async () => {},
    trimCaches: async () => {},
    runtimes: async () => ["python"],
    imageOf: () => "simulated",
    fingerprint: async () => null,
    box: (options) => new SimulatedBox(options, home, ask),
    list,
    deathOf: async (sandbox) =>
      (await list()).some(({ id }) => id === sandbox) ? null : "the simulated guest is gone",
    remove: async (sandbox) => void (await ask({ wish: "remove", sandbox })),
    followDeaths: () => {},
  };
}

class SimulatedBox implements Box {
  listener: BoxListener;
  channel: GuestChannel | null = null;
  sandbox: string | null = null;
  readonly #options: BoxOptions;
  readonly #folder: string;
  readonly #ask: (wish: Wish) => Promise<unknown>;

  constructor(options: BoxOptions, home: string, ask: (wish: Wish) => Promise<unknown>) {
    this.#options = options;
    this.#folder = path.join(boxesFolder(home), options.id);
    this.#ask = ask;
    this.listener = options.listener;
  }

  async make({ onSandbox }: Making): Promise<void> {
    const { id, session } = this.#options;
    await this.#listen(false);
    this.sandbox = sandboxOf(id);
    onSandbox(this.sandbox);
    const guest: Simulated = {
      sandbox: this.sandbox,
      box: id,
      session: session?.id ?? "",
      socket: path.join(this.#folder, "run", "daemon.sock"),
      createdAt: Date.now(),
    };
    await this.#ask({ wish: "make", guest });
  }

  async adopt(sandbox: string, tokenGiven: boolean): Promise<void> {
    this.sandbox = sandbox;
    await this.#listen(tokenGiven);
  }

  async fit(): Promise<null> {
    return null;
  }

  async nameAfter(): Promise<void> {}

  async usage(): Promise<null> {
    return null;
  }

  async destroy(): Promise<void> {
    await this.#ask({ wish: "remove", sandbox: sandboxOf(this.#options.id) });
    await this.channel?.close();
    this.channel = null;
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #listen(tokenGiven: boolean): Promise<void> {
    const run = path.join(this.#folder, "run");
    await mkdir(run, { recursive: true });
    const { token, log } = this.#options;
    this.channel = new GuestChannel({
      ...{ runFolder: run, token, tokenGiven, log },
      onHello: (hello) => this.listener.onHello(hello),
      onMessage: (message) => this.listener.onMessage(message),
      onDown: () => this.listener.onDown(),
      onProxied: (socket) => this.listener.onProxied(socket),
      onViolations: (reason) => this.listener.onViolations(reason),
    });
    await this.channel.listen();
  }
}
