/** @module A real guest in a real container behind the daemon's own channel and calls, without a control plane. */
import { execFile } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { GuestCalls } from "../../agent-host/src/guest/guest-calls.ts";
import { GuestChannel } from "../../agent-host/src/guest/guest-channel.ts";
import type { GuestFiles } from "../../agent-host/src/guest/guest-transfers.ts";
import { createLog } from "../../agent-host/src/host/log.ts";

const images = path.resolve(import.meta.dirname, "../../images");
const docker = promisify(execFile);

export class FileSandbox implements GuestFiles {
  readonly folder = mkdtempSync(path.join(tmpdir(), "sandbar-files-"));
  readonly channel: GuestChannel;
  readonly #calls: GuestCalls;
  #hello = Promise.withResolvers<void>();
  container = "";

  private constructor() {
    chmodSync(this.folder, 0o755);
    this.channel = new GuestChannel({
      runFolder: this.folder,
      token: "t".repeat(43),
      tokenGiven: false,
      log: createLog("silent"),
      onHello: () => this.#hello.resolve(),
      onMessage: (message) => message.type === "answer" && this.#calls.onAnswer(message),
      onDown: () => this.#calls.failAll("the sandbox's connection was lost"),
      onProxied: (socket) => socket.destroy(),
      onViolations: () => {},
    });
    this.#calls = new GuestCalls((message) => this.channel.send(message), 10_000);
  }

  static async start({ tmpfs = "256m", memory = "512m", env = [] as string[] } = {}): Promise<FileSandbox> {
    const sandbox = new FileSandbox();
    await sandbox.channel.listen();
    const { stdout } = await docker("docker", [
      ...["run", "--detach", "--label", "sandbar.test=guest", "--user", "65532:65532", "--read-only"],
      ...["--network", "none", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"],
      ...["--pids-limit", "256", "--memory", memory, "--memory-swap", memory],
      ...["--tmpfs", "/tmp:uid=65532,size=64m", "--tmpfs", `/session:uid=65532,gid=65532,exec,size=${tmpfs}`],
      ...env.flatMap((pair) => ["--env", pair]),
      ...[
        "--volume",
        `${images}/guest:/opt/sandbar/guest:ro`,
        "--volume",
        `${sandbox.folder}:/run/sandbar:ro`,
      ],
      ...["--entrypoint", "python3", "sandbar/python:latest", "-I", "/opt/sandbar/guest/main.py"],
    ]);
    sandbox.container = stdout.trim();
    await sandbox.#hello.promise;
    return sandbox;
  }

  get transfers() {
    return this.channel.transfers;
  }

  readonly call: GuestFiles["call"] = (...question) => this.#calls.call(...question);

  /** A command beside the guest; the daemon's side runs on meanwhile. */
  async bash(script: string): Promise<string> {
    return (await docker("docker", ["exec", this.container, "bash", "-c", script])).stdout;
  }

  /** Threads and memory of the guest, to see that nothing is left behind. */
  async guestUse(): Promise<{ threads: number; memory_kb: number }> {
    const status = await this.bash("cat /proc/1/status");
    const field = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)?.[1]);
    return { threads: field("Threads"), memory_kb: field("VmRSS") };
  }

  async stop(): Promise<void> {
    await docker("docker", ["rm", "--force", this.container]).catch(() => {});
    await this.channel.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
