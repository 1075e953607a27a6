/**
 * A control plane and three daemons on this machine: real processes, each with a home of its own, each daemon behind a
 * relay that can be cut. Whatever dies is started again, as a supervisor would.
 *
 * @module
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, createWriteStream, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "@sandbar/test/fixtures/client.ts";
import { end, eventually, REPO, removeHost, Stack } from "@sandbar/test/fixtures/stack.ts";
import { TcpProxy } from "@sandbar/test/fixtures/tcp-proxy.ts";

export type Guests = "real" | "simulated";

export interface FleetOptions {
  readonly guests: Guests;
  readonly sessionsPerHost: number;
  /** A folder for homes of daemons, by number; theirs alone if it is a mount. */
  readonly homeOf?: (daemon: number) => string;
}

export const DAEMONS = 3;
const ASIDE = tmpdir();
const AGAIN_MS = 500;
const LOOK_MS = 1_000;
const SILENT_LOOKS = 8;

export class Daemon {
  readonly home: string;
  /** Logs, and what simulated guests leave: it has room when the home has none. */
  readonly aside = mkdtempSync(join(ASIDE, "sandbar-load-aside-"));
  readonly relay = new TcpProxy();
  hostId = "";
  pid = 0;
  restarts = -1;
  readonly #options: FleetOptions;
  #child: ChildProcess | null = null;
  #guests: ChildProcess | null = null;
  #closed = false;

  constructor(home: string, options: FleetOptions) {
    this.home = home;
    this.#options = options;
  }

  async start(stack: Stack, number: number): Promise<void> {
    mkdirSync(this.home, { recursive: true });
    await this.relay.open(stack.url);
    const { token } = await stack.client().ok<{ token: string }>("POST", "/v1/hosts/enrollments");
    const command = [
      join(REPO, "agent-host/src/main.ts"),
      "join",
      stack.url,
      token,
      "--name",
      `load-${number}`,
    ];
    execFileSync(process.execPath, command, { env: this.#env(number), stdio: "pipe" });
    this.hostId = JSON.parse(readFileSync(join(this.home, "host/identity.json"), "utf8")).host_id;
    if (this.#options.guests === "simulated") {
      this.#guests = leashed(
        [join(REPO, "bench/load/simulated-guests.ts"), this.aside],
        process.env,
        join(this.aside, "guests.log"),
      );
      await once(this.#guests.stdout!, "data");
    }
    void this.#supervise(number);
  }

  get guestsPid(): number {
    return this.#guests?.pid ?? 0;
  }

  kill(): void {
    this.#child?.kill("SIGKILL");
  }

  async #supervise(number: number): Promise<void> {
    const program =
      this.#options.guests === "real" ? "agent-host/src/main.ts" : "bench/load/simulated-daemon.ts";
    while (!this.#closed) {
      this.restarts++;
      const child = leashed([join(REPO, program), "run"], this.#env(number), join(this.aside, "daemon.log"));
      child.stdout!.resume();
      this.#child = child;
      this.pid = child.pid!;
      await once(child, "exit");
      await sleep(AGAIN_MS);
    }
  }

  #env(number: number): NodeJS.ProcessEnv {
    const first = 2_000_000 + number * 1_000_000;
    return {
      ...process.env,
      SANDBAR_HOME: this.home,
      SIMULATED_GUESTS: this.aside,
      SANDBAR_URL: this.relay.url,
      SANDBAR_POOL_SIZE: "0",
      SANDBAR_USERS: `${first}-${first + 999_999}`,
      SANDBAR_MAX_SESSIONS: String(this.#options.sessionsPerHost),
      SANDBAR_MIN_FREE_DISK_MB: "0",
      SANDBAR_START_TIMEOUT_MS: "180000",
      SANDBAR_LOG_LEVEL: "warn",
    };
  }

  async close(): Promise<void> {
    this.#closed = true;
    await end(this.#child, "SIGTERM");
    await end(this.#guests, "SIGKILL");
    await this.relay.close();
    await removeHost(this.#options.guests === "real" ? this.hostId : "", this.home);
    rmSync(this.aside, { recursive: true, force: true });
  }
}

export class Fleet {
  readonly stack: Stack;
  readonly daemons: Daemon[];
  restartsOfControlPlane = 0;
  #closed = false;
  #restarting = false;
  #watching: NodeJS.Timeout | null = null;

  private constructor(stack: Stack, daemons: Daemon[]) {
    this.stack = stack;
    this.daemons = daemons;
  }

  static async start(options: FleetOptions): Promise<Fleet> {
    const stack = await Stack.start({
      withoutAgent: true,
      vars: { MAX_SESSIONS_PER_TENANT: "0", CREATE_TIMEOUT_MS: "600000" },
    });
    const homes = options.homeOf ?? (() => mkdtempSync(join(tmpdir(), "sandbar-load-")));
    const daemons = Array.from({ length: DAEMONS }, (_, number) => new Daemon(homes(number), options));
    const fleet = new Fleet(stack, daemons);
    try {
      for (const [number, daemon] of daemons.entries()) await daemon.start(stack, number);
      await fleet.online();
    } catch (error) {
      await fleet.close();
      throw error;
    }
    return fleet;
  }

  client(): Client {
    return this.stack.client();
  }

  async online(): Promise<void> {
    await eventually("all hosts are online", 120_000, async () => {
      const { data } = await this.client().ok<{ data: { status: string }[] }>("GET", "/v1/hosts");
      return data.filter(({ status }) => status === "online").length === DAEMONS;
    });
  }

  /** Moves what the control plane keeps onto a disk of its own, which `mount` puts where it is told. */
  async moveState(mount: (folder: string) => void): Promise<void> {
    const state = join(this.stack.home, "state");
    await this.stack.killServer("SIGTERM");
    renameSync(state, `${state}.before`);
    mkdirSync(state);
    mount(state);
    cpSync(`${state}.before`, state, { recursive: true });
    rmSync(`${state}.before`, { recursive: true });
    await this.stack.startServer();
    await this.online();
    this.#watch();
  }

  /** Starts it again when it went by itself. */
  #watch(): void {
    let silent = 0;
    this.#watching = setInterval(async () => {
      const well = await fetch(`${this.stack.url}/healthz`, { signal: AbortSignal.timeout(2_000) }).then(
        ({ ok }) => ok,
        () => false,
      );
      silent = well || this.#restarting ? 0 : silent + 1;
      if (silent < SILENT_LOOKS) return;
      silent = 0;
      await this.killControlPlane();
    }, LOOK_MS);
  }

  /** workerd is killed; what started it notices and ends, and is started again. */
  async killControlPlane(): Promise<void> {
    if (this.#restarting) return;
    this.#restarting = true;
    try {
      process.kill(this.stack.workerdPid, "SIGKILL");
    } catch {
      // It is down already.
    }
    await this.stack.killServer();
    this.restartsOfControlPlane++;
    try {
      while (!this.#closed) {
        const started = await this.stack.startServer().then(
          () => true,
          () => false,
        );
        if (started) return;
        await sleep(AGAIN_MS);
      }
    } finally {
      this.#restarting = false;
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    if (this.#watching) clearInterval(this.#watching);
    for (const daemon of this.daemons) await daemon.close();
    await this.stack.close();
  }
}

/** A Node process that dies with this one. */
function leashed(args: string[], env: NodeJS.ProcessEnv, log: string): ChildProcess {
  const child = spawn("setpriv", ["--pdeathsig", "KILL", process.execPath, ...args], {
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  child.stderr!.pipe(createWriteStream(log, { flags: "a" }));
  return child;
}
