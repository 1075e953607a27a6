/** @module A real guest in a real container, driven over its socket as the daemon would. */
import { execFile, execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import type { DaemonMessage, GuestEvent, GuestMessage } from "../../shared/src/wire/guest-messages.ts";
import { GuestMessageSchema } from "../../shared/src/wire/guest-messages.ts";

const images = path.resolve(import.meta.dirname, "../../images");
const docker = promisify(execFile);

export interface RunOptions {
  context?: string;
  language?: string;
  env?: Record<string, string>;
  stdin?: string | null;
  stream_limit?: number;
  mime_value_limit?: number;
  mime_total_limit?: number;
  /** Acknowledge events as they come; on by default. */
  ack?: boolean;
}

export interface Ran {
  execution: string;
  events: GuestEvent[];
  done: Extract<GuestEvent, { type: "done" }>;
  stdout: string;
  stderr: string;
  results: Record<string, unknown>[];
  error: { name: string; value: string; traceback: string } | null;
}

export type Hello = Extract<GuestMessage, { type: "hello" }>;

let counter = 0;

/** The daemon's end of one guest: remembers everything that was said. */
export class FakeDaemon {
  readonly folder = mkdtempSync(path.join(tmpdir(), "sandbar-guest-"));
  readonly token = randomBytes(16).toString("hex");
  readonly hellos: Hello[] = [];
  readonly messages: GuestMessage[] = [];
  /** Frames that the schema refused: always a fault of the guest. */
  readonly refused: string[] = [];
  /** Decides about a hello; by default the rule of docs/protocol.md. */
  accept: (hello: Hello) => boolean = (hello) => this.hellos.length === 1 || hello.token === this.token;
  container = "";
  private readonly acking = new Set<string>();
  private server: net.Server | null = null;
  private socket: net.Socket | null = null;
  private waiters: { test: () => unknown; resolve: (value: unknown) => void }[] = [];

  async listen(): Promise<void> {
    chmodSync(this.folder, 0o755);
    this.server = net.createServer((socket) => this.onConnection(socket));
    const file = path.join(this.folder, "daemon.sock");
    rmSync(file, { force: true });
    await new Promise<void>((resolve) => this.server!.listen(file, resolve));
    chmodSync(file, 0o777);
  }

  /** As if the daemon had been killed: the socket is gone and nobody listens. */
  async vanish(): Promise<void> {
    this.socket?.destroy();
    this.socket = null;
    const server = this.server;
    this.server = null;
    await new Promise<void>((resolve) => (server ? server.close(() => resolve()) : resolve()));
  }

  send(message: DaemonMessage): void {
    this.socket!.write(`${JSON.stringify(message)}\n`);
  }

  sendRaw(text: string): void {
    this.socket!.write(text);
  }

  /** Starts code and returns its execution id at once. */
  start(code: string, options: RunOptions = {}): string {
    const execution = `exe_${++counter}_${randomBytes(4).toString("hex")}`;
    this.startAs(execution, code, options);
    return execution;
  }

  startAs(execution: string, code: string, options: RunOptions = {}): void {
    if (options.ack !== false) this.acking.add(execution);
    const language = options.language ?? "python";
    this.send({
      type: "run",
      execution,
      context: options.context ?? language,
      language,
      code,
      env: options.env ?? {},
      stdin: options.stdin ?? null,
      stream_limit: options.stream_limit ?? 4 * 1024 * 1024,
      mime_value_limit: options.mime_value_limit ?? 1_000_000,
      mime_total_limit: options.mime_total_limit ?? 8_000_000,
    });
  }

  async run(code: string, options: RunOptions = {}): Promise<Ran> {
    return this.finish(this.start(code, options));
  }

  async finish(execution: string, timeoutMs?: number): Promise<Ran> {
    await this.until(
      () => this.eventsOf(execution).some((event) => event.type === "done"),
      timeoutMs,
      `done of ${execution}`,
    );
    return this.outcome(execution);
  }

  /** Its first output is there: the code runs, and has done what stands before it. */
  async printed(execution: string): Promise<void> {
    await this.until(
      () => this.eventsOf(execution).some(({ type }) => type === "stdout" || type === "stderr"),
      undefined,
      `output of ${execution}`,
    );
  }

  outcome(execution: string): Ran {
    const events = this.eventsOf(execution);
    const done = events.at(-1);
    if (done?.type !== "done") throw new Error(`the last event is ${done?.type}`);
    const text = (type: "stdout" | "stderr") =>
      events.flatMap((event) => (event.type === type ? [event.text] : [])).join("");
    const error = events.find((event) => event.type === "error");
    return {
      execution,
      events,
      done,
      stdout: text("stdout"),
      stderr: text("stderr"),
      results: events.flatMap((event) => (event.type === "result" ? [event.data] : [])),
      error: error?.type === "error" ? error : null,
    };
  }

  /** Events in the order of arrival, repeats left out. */
  eventsOf(execution: string): GuestEvent[] {
    return this.byExecution.get(execution) ?? [];
  }

  private readonly byExecution = new Map<string, GuestEvent[]>();

  async call(
    method: string,
    params: Record<string, unknown>,
  ): Promise<Extract<GuestMessage, { type: "answer" }>> {
    const id = `call_${++counter}`;
    this.send({ type: "call", id, method, params });
    return this.message("answer", (answer) => answer.id === id);
  }

  async message<T extends GuestMessage["type"]>(
    type: T,
    test: (message: Extract<GuestMessage, { type: T }>) => boolean = () => true,
    from = 0,
  ): Promise<Extract<GuestMessage, { type: T }>> {
    const find = () =>
      this.messages
        .slice(from)
        .find((m): m is Extract<GuestMessage, { type: T }> => m.type === type && test(m as never));
    await this.until(find, undefined, type);
    return find()!;
  }

  /** The time is for a busy machine: nothing here is about how long things take. */
  async until(test: () => unknown, timeoutMs = 50_000, what = "a condition"): Promise<void> {
    if (test()) return;
    let timer: NodeJS.Timeout | undefined;
    await new Promise((resolve, reject) => {
      this.waiters.push({ test, resolve });
      timer = setTimeout(() => reject(new Error(`no ${what} in ${timeoutMs} ms`)), timeoutMs);
    }).finally(() => clearTimeout(timer));
  }

  lateText(from = 0): string {
    return this.messages
      .slice(from)
      .flatMap((m) => (m.type === "late" ? [m.text] : []))
      .join("");
  }

  /** Connections that the guest dials for bytes, by the transfer that they are for. */
  readonly transfers = new Map<string, (socket: net.Socket) => void>();

  private transferred(socket: net.Socket, data: Buffer, end: number): boolean {
    const opening = JSON.parse(data.subarray(0, end).toString());
    if (opening.type !== "transfer" || opening.token !== this.token) return false;
    socket.removeAllListeners("data");
    socket.pause();
    socket.unshift(data.subarray(end + 1));
    this.transfers.get(opening.transfer)?.(socket);
    return true;
  }

  private onConnection(socket: net.Socket): void {
    let rest: Buffer = Buffer.alloc(0);
    let welcomed = false;
    socket.on("error", () => {});
    socket.on("data", (data: Buffer) => {
      rest = rest.length ? Buffer.concat([rest, data]) : data;
      let end = rest.indexOf(10);
      if (!welcomed && end >= 0 && this.transferred(socket, rest, end)) return;
      while (end >= 0) {
        const line = rest.subarray(0, end).toString();
        rest = rest.subarray(end + 1);
        end = rest.indexOf(10);
        const parsed = GuestMessageSchema.safeParse(JSON.parse(line));
        if (!parsed.success) {
          this.refused.push(line.slice(0, 500));
        } else if (welcomed) {
          this.take(parsed.data);
        } else if (parsed.data.type === "hello") {
          this.hellos.push(parsed.data);
          if (!this.accept(parsed.data)) {
            socket.destroy();
          } else {
            welcomed = true;
            this.socket = socket;
            this.send({ type: "welcome", token: this.token });
          }
        } else {
          socket.destroy();
        }
      }
      this.waiters = this.waiters.filter((waiter) => {
        const value = waiter.test();
        if (value) waiter.resolve(value);
        return !value;
      });
    });
  }

  private take(message: GuestMessage): void {
    if (message.type === "event") {
      const { execution, event } = message;
      const events = this.byExecution.get(execution) ?? [];
      this.byExecution.set(execution, events);
      if (event.seq <= events.length) return;
      if (event.seq !== events.length + 1) this.refused.push(`gap before ${event.seq} of ${execution}`);
      events.push(event);
      if (this.acking.has(execution)) {
        this.send({ type: "ack", execution, seq: event.seq, final: event.type === "done" });
      }
      return;
    }
    this.messages.push(message);
  }
}

export interface SandboxOptions {
  image?: string;
  memory?: string;
  docker?: string[];
}

/** A container with the flags that agent-host uses, its guest connected. */
export class Sandbox extends FakeDaemon {
  static async start(options: SandboxOptions = {}): Promise<Sandbox> {
    const sandbox = new Sandbox();
    await sandbox.listen();
    const memory = options.memory ?? "512m";
    const { stdout } = await docker("docker", [
      ...["run", "--detach", "--label", "sandbar.test=guest", "--user", "65532:65532", "--read-only"],
      ...[
        "--network",
        "none",
        "--cap-drop",
        "ALL",
        "--security-opt",
        "no-new-privileges",
        "--pids-limit",
        "256",
      ],
      ...["--memory", memory, "--memory-swap", memory, "--tmpfs", "/tmp:mode=1777,exec,size=64m"],
      ...["--tmpfs", "/session:uid=65532,gid=65532,exec,size=128m", "--workdir", "/session"],
      ...[
        "--volume",
        `${images}/guest:/opt/sandbar/guest:ro`,
        "--volume",
        `${images}/kernels:/opt/sandbar/kernels:ro`,
      ],
      ...["--volume", `${sandbox.folder}:/run/sandbar:ro`, ...(options.docker ?? [])],
      ...[
        "--entrypoint",
        "python3",
        options.image ?? "sandbar/python:latest",
        "-I",
        "/opt/sandbar/guest/main.py",
      ],
    ]);
    sandbox.container = stdout.trim();
    await sandbox.until(() => sandbox.hellos.length, undefined, "hello");
    return sandbox;
  }

  /** A command beside the guest, as an operator would look in. */
  exec(...command: string[]): string {
    return execFileSync("docker", ["exec", this.container, ...command], { encoding: "utf8" });
  }

  /** Commands of everything that runs, seen from outside: inside there may be no process left to look with. */
  top(): string[] {
    const table = execFileSync("docker", ["top", this.container, "-eo", "pid,args"], { encoding: "utf8" });
    return table
      .trim()
      .split("\n")
      .slice(1)
      .map((line) => line.replace(/^\s*\d+\s+/, ""));
  }

  logs(): string {
    return execFileSync("docker", ["logs", this.container], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    });
  }

  async stop(): Promise<void> {
    await this.vanish();
    await docker("docker", ["rm", "--force", this.container]).catch(() => {});
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
