/**
 * A container that runs one command and goes: for what must happen before a session is there. It is as locked up as a session.
 *
 * @module
 */
import { PassThrough } from "node:stream";
import type Docker from "dockerode";
import type { Config } from "../host/config.ts";
import { LABEL } from "./container-options.ts";
import { SANDBOX_UID } from "./storage.ts";

const OUTPUT_LIMIT = 64 * 1024;
const LINE_LIMIT = 16 * 1024;
const MB = 1024 * 1024;

export const TEMPORARY_LABEL = "sandbar.temporary";

export interface TemporaryRun {
  readonly image: string;
  readonly command: readonly string[];
  readonly env: readonly string[];
  readonly binds: readonly string[];
  readonly network: string;
  readonly timeoutMs: number;
  onLine?(line: string): void;
  /** Called now and then; a reason ends the run. */
  check?(): Promise<string | null>;
}

export interface TemporaryEnd {
  readonly exitCode: number;
  /** The end of what it wrote to both streams. */
  readonly output: string;
  readonly stdout: string;
  /** Why it was ended, if it did not end by itself. */
  readonly stopped: string | null;
}

const CHECK_MS = 2000;

export class TemporaryContainers {
  readonly #docker: Docker;
  readonly #hostId: string;
  readonly #config: Config;
  readonly #seccomp: string | null;

  constructor(docker: Docker, hostId: string, config: Config, seccomp: string | null) {
    this.#docker = docker;
    this.#hostId = hostId;
    this.#config = config;
    this.#seccomp = seccomp;
  }

  /** Left by a daemon that was killed. */
  async removeAll(): Promise<void> {
    const filters = { label: [`${LABEL.host}=${this.#hostId}`, TEMPORARY_LABEL] };
    for (const { Id } of await this.#docker.listContainers({ all: true, filters }))
      await this.#docker.getContainer(Id).remove({ force: true, v: true });
  }

  async run(wanted: TemporaryRun): Promise<TemporaryEnd> {
    const container = await this.#docker.createContainer(this.#options(wanted));
    let timer: NodeJS.Timeout | null = null;
    let checks: NodeJS.Timeout | null = null;
    let stopped: string | null = null;
    const stop = (reason: string) => {
      stopped ??= reason;
      container.kill().catch(() => {});
    };
    try {
      // The log driver is off, so whoever attaches too late hears nothing.
      const stream = await container.attach({ stream: true, stdout: true, stderr: true });
      const heard = this.#listen(stream, wanted);
      // The usual condition is met by a container that has not started yet.
      const ended = container.wait({ condition: "next-exit" });
      ended.catch(() => {});
      await container.start();
      timer = setTimeout(() => stop(`it took longer than ${wanted.timeoutMs / 1000} s`), wanted.timeoutMs);
      if (wanted.check)
        checks = setInterval(async () => {
          const reason = await wanted.check!().catch(() => null);
          if (reason) stop(reason);
        }, CHECK_MS);
      const { StatusCode } = (await ended) as { StatusCode: number };
      return { exitCode: StatusCode, ...(await heard), stopped };
    } finally {
      if (timer) clearTimeout(timer);
      if (checks) clearInterval(checks);
      await container.remove({ force: true, v: true }).catch((error: { statusCode?: number }) => {
        if (error.statusCode !== 404 && error.statusCode !== 409) throw error;
      });
    }
  }

  #listen(
    stream: NodeJS.ReadWriteStream,
    { onLine }: TemporaryRun,
  ): Promise<{ output: string; stdout: string }> {
    let output = "";
    let stdout = "";
    const out = new PassThrough();
    const err = new PassThrough();
    this.#docker.modem.demuxStream(stream, out, err);
    for (const source of [out, err]) {
      const decoder = new TextDecoder();
      let line = "";
      source.on("data", (chunk: Buffer) => {
        const text = decoder.decode(chunk, { stream: true });
        output = (output + text).slice(-OUTPUT_LIMIT);
        if (source === out) stdout = (stdout + text).slice(-OUTPUT_LIMIT);
        const lines = (line + text).split(/[\r\n]+/);
        line = lines.pop()!.slice(-LINE_LIMIT);
        for (const whole of lines) if (whole.trim()) onLine?.(whole.trim());
      });
    }
    return new Promise((resolve) => {
      const done = () => setImmediate(() => resolve({ output, stdout }));
      stream.once("end", done);
      stream.once("close", done);
      stream.once("error", done);
    });
  }

  #options({ image, command, env, binds, network }: TemporaryRun): Docker.ContainerCreateOptions {
    const memory = Math.min(2048, this.#config.maxima.memory_mb) * MB;
    return {
      Image: image,
      Cmd: [...command],
      Entrypoint: [],
      User: `${SANDBOX_UID}:${SANDBOX_UID}`,
      WorkingDir: "/tmp",
      Hostname: "sandbox",
      Env: ["HOME=/tmp", "LANG=C.UTF-8", ...env],
      Labels: { [LABEL.host]: this.#hostId, [TEMPORARY_LABEL]: "1" },
      AttachStdout: true,
      AttachStderr: true,
      HostConfig: {
        Init: true,
        ReadonlyRootfs: true,
        CapDrop: ["ALL"],
        SecurityOpt: ["no-new-privileges", ...(this.#seccomp ? [`seccomp=${this.#seccomp}`] : [])],
        PidsLimit: 512,
        Memory: memory,
        MemorySwap: memory,
        NetworkMode: network,
        IpcMode: "private",
        LogConfig: { Type: "none", Config: {} },
        RestartPolicy: { Name: "no" },
        Binds: [...binds],
      },
    };
  }
}
