/** @module A real agent-host process with a home of its own, and everything it leaves behind. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { newId, type SessionSpec } from "@sandbar/shared";
import Docker from "dockerode";
import { removeContainersAndNetwork, unmountBelow } from "../src/docker/host-traces.ts";
import type { FakeControlPlane } from "./fake-control-plane.ts";

const run = promisify(execFile);
const MAIN = fileURLToPath(new URL("../src/main.ts", import.meta.url));

export const SPEC: SessionSpec = {
  runtime: "python",
  image: null,
  storage: "TMPFS",
  dataset_access: "NONE",
  network: "none",
  limits: { memory_mb: 512, cpus: 1, pids: 128, tmpfs_mb: 64, timeout_s: 30 },
  dependencies: {},
  env: {},
  volumes: [],
  idle_ttl_s: 600,
  max_lifetime_s: 3600,
};

export class DaemonProcess {
  readonly home: string;
  readonly plane: FakeControlPlane;
  readonly env: Record<string, string>;
  /** A program that runs the daemon, with its own arguments. */
  readonly #through: string[];
  #child: ChildProcess | null = null;
  logs = "";

  private constructor(home: string, plane: FakeControlPlane, env: Record<string, string>, through: string[]) {
    this.home = home;
    this.plane = plane;
    this.env = env;
    this.#through = through;
  }

  /** Joined and linked. */
  static async start(
    plane: FakeControlPlane,
    env: Record<string, string> = {},
    through: string[] = [],
  ): Promise<DaemonProcess> {
    const home = await mkdtemp(path.join(tmpdir(), "sandbar-agent-"));
    const daemon = new DaemonProcess(home, plane, env, through);
    await run(process.execPath, [MAIN, "join", plane.url, "a-token", "--name", "test"], {
      env: daemon.#env(),
    });
    await daemon.spawn();
    return daemon;
  }

  #env(): NodeJS.ProcessEnv {
    return {
      ...process.env,
      SANDBAR_HOME: this.home,
      SANDBAR_LOG_LEVEL: "debug",
      SANDBAR_POOL_SIZE: "0",
      ...this.env,
    };
  }

  /** Another daemon on the same home. */
  async spawn(): Promise<ChildProcess> {
    const { welcomes } = this.plane;
    const [program, ...argv] = [...this.#through, process.execPath, MAIN, "run"];
    const child = spawn(program!, argv, {
      env: this.#env(),
      stdio: ["ignore", "inherit", "pipe"],
    });
    child.stderr!.on("data", (chunk) => {
      this.logs += chunk;
    });
    this.#child = child;
    await this.plane.until("a welcome", () => this.plane.welcomes > welcomes || child.exitCode !== null);
    if (child.exitCode !== null) throw new Error(`the daemon exited with ${child.exitCode}:\n${this.logs}`);
    return child;
  }

  /** Another command of the program, for the same home. */
  async command(...argv: string[]): Promise<string> {
    return (await run(process.execPath, [MAIN, ...argv], { env: this.#env() })).stdout;
  }

  async kill(signal: NodeJS.Signals): Promise<number | null> {
    const child = this.#child!;
    if (child.exitCode === null && child.signalCode === null) {
      child.kill(signal);
      await once(child, "exit");
    }
    return child.exitCode;
  }

  async exitCode(): Promise<number | null> {
    const child = this.#child!;
    if (child.exitCode === null) await once(child, "exit");
    return child.exitCode;
  }

  async createSession(spec: Partial<SessionSpec> = {}): Promise<string> {
    const id = newId("ses");
    this.plane.command(id, {
      type: "session.create",
      tenant: "test",
      context: "main",
      spec: { ...SPEC, ...spec },
    });
    const report = await this.plane.until(
      "the session",
      () => {
        const found = this.plane.sessions.get(id);
        return found && found.state !== "creating" ? found : null;
      },
      45_000,
    );
    if (report.state !== "ready") throw new Error(`the session is ${JSON.stringify(report)}\n${this.logs}`);
    return id;
  }

  /** Sends code and answers at once. */
  run(session: string, code: string, timeoutMs = 20_000, context = "main"): string {
    const execution = newId("exe");
    this.plane.command(session, {
      type: "run",
      execution,
      context,
      language: "python",
      code,
      env: {},
      stdin: null,
      timeout_ms: timeoutMs,
    });
    return execution;
  }

  async outcome(execution: string, ms = 30_000) {
    const outcome = await this.plane.until(
      "an outcome",
      () => this.plane.executions.get(execution)?.outcome,
      ms,
    );
    return { ...outcome, stdout: this.stdout(execution), text: this.text(execution) };
  }

  stdout(execution: string): string {
    return this.plane
      .execution(execution)
      .events.map((event) => (event.type === "stdout" ? event.text : ""))
      .join("");
  }

  text(execution: string): unknown {
    return this.plane.execution(execution).events.findLast((event) => event.type === "result")?.data[
      "text/plain"
    ];
  }

  async stopSession(id: string): Promise<void> {
    this.plane.command(id, { type: "session.stop", reason: "test" });
    await this.plane.until("stopped", () => this.plane.sessions.get(id)?.state === "stopped");
    await this.plane.until("the box's end", () => !this.leaving());
  }

  /** Whether boxes are still being cleared away. */
  leaving(): boolean {
    const db = new DatabaseSync(path.join(this.home, "host", "journal.sqlite"), { readOnly: true });
    try {
      return db.prepare("SELECT 1 FROM leaving").get() !== undefined;
    } finally {
      db.close();
    }
  }

  async containers(): Promise<string[]> {
    const { stdout } = await run("docker", [
      "ps",
      "-aq",
      "--no-trunc",
      "--filter",
      `label=sandbar.host=${this.plane.hostId}`,
    ]);
    return stdout.split("\n").filter(Boolean);
  }

  /** Everything of this daemon that is left on the machine. */
  async leftovers(): Promise<{ containers: string[]; boxes: string[]; mounts: string[] }> {
    const boxes = await readdir(path.join(this.home, "boxes")).catch(() => []);
    const mounts = (await readFile("/proc/self/mountinfo", "utf8"))
      .split("\n")
      .filter((line) => line.includes(this.home));
    return { containers: await this.containers(), boxes, mounts };
  }

  async cleanUp(): Promise<void> {
    await this.kill("SIGKILL");
    await removeContainersAndNetwork(new Docker(), this.plane.hostId);
    await unmountBelow(this.home);
    await rm(this.home, { recursive: true, force: true });
  }
}
