/**
 * A container that runs one command and goes: for what must happen before a session is there. It is as locked up as a session.
 *
 * @module
 */
import { PassThrough } from "node:stream";
import type Docker from "dockerode";
import type { Config } from "../host/config.ts";
import { IO_WEIGHT, ulimits } from "./container-options.ts";
import type { EnginePaths } from "./engine-paths.ts";
import { countsProcesses } from "./isolation.ts";
import { LABEL, TEMPORARY } from "./labels.ts";
import { SANDBOX_ID, type Users } from "./users.ts";

const OUTPUT_LIMIT = 64 * 1024;
const LINE_LIMIT = 16 * 1024;
const MB = 1024 * 1024;
const MOST_CPUS = 2;

export interface Bounds {
  readonly timeoutMs: number;
  onLine?(line: string): void;
  /** Called now and then; a reason ends the run. */
  check?(): Promise<string | null>;
}

export interface TemporaryRun extends Bounds {
  readonly image: string;
  readonly command: readonly string[];
  readonly env: readonly string[];
  readonly binds: readonly string[];
  readonly network: string;
  readonly user?: number;
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
/** In memory, where the container's own limit holds. */
const VOLUME = "rw,nosuid,nodev,mode=1777,size=64m";

export interface TemporaryParts {
  seccomp(): string;
  /** What the image declares. */
  volumes(image: string): Promise<readonly string[]>;
  readonly paths: EnginePaths;
  readonly users: Users;
}

export class TemporaryContainers {
  readonly #docker: Docker;
  readonly #hostId: string;
  readonly #config: Config;
  readonly #parts: TemporaryParts;

  constructor(docker: Docker, hostId: string, config: Config, parts: TemporaryParts) {
    this.#docker = docker;
    this.#hostId = hostId;
    this.#config = config;
    this.#parts = parts;
  }

  /** Left by a daemon that was killed. */
  async removeAll(): Promise<void> {
    const filters = { label: [`${LABEL.host}=${this.#hostId}`, LABEL.temporary] };
    for (const { Id } of await this.#docker.listContainers({ all: true, filters }))
      await this.#docker.getContainer(Id).remove({ force: true, v: true });
  }

  /** As the given user, or as one that nobody else is. */
  run(wanted: TemporaryRun): Promise<TemporaryEnd> {
    return wanted.user === undefined
      ? this.#parts.users.borrow((user) => this.#run({ ...wanted, user }))
      : this.#run({ ...wanted, user: wanted.user });
  }

  async #run(wanted: TemporaryRun & { user: number }): Promise<TemporaryEnd> {
    const volumes = await this.#parts.volumes(wanted.image);
    return runOnce(this.#docker, this.#options(wanted, volumes), wanted);
  }

  #options(
    { image, command, env, binds, network, user }: TemporaryRun & { user: number },
    volumes: readonly string[],
  ): Docker.ContainerCreateOptions {
    const bound = new Set(binds.map((bind) => bind.split(":")[1]));
    const free = volumes.filter((volume) => !bound.has(volume));
    const memory = Math.min(2048, this.#config.maxima.memory_mb) * MB;
    return {
      Image: image,
      Cmd: [...command],
      Entrypoint: [],
      User: `${user}:${SANDBOX_ID}`,
      WorkingDir: "/tmp",
      Hostname: "sandbox",
      Env: ["HOME=/tmp", "LANG=C.UTF-8", ...env],
      Labels: TEMPORARY(this.#hostId),
      AttachStdout: true,
      AttachStderr: true,
      HostConfig: {
        Init: true,
        ...(this.#config.runtime !== undefined && { Runtime: this.#config.runtime }),
        ReadonlyRootfs: true,
        CapDrop: ["ALL"],
        SecurityOpt: ["no-new-privileges", `seccomp=${this.#parts.seccomp()}`],
        ...(countsProcesses(this.#config.runtime) && { PidsLimit: 512 }),
        Memory: memory,
        MemorySwap: memory,
        NanoCpus: Math.round(Math.min(MOST_CPUS, this.#config.maxima.cpus) * 1e9),
        BlkioWeight: IO_WEIGHT,
        Ulimits: ulimits(this.#config),
        NetworkMode: network,
        IpcMode: "private",
        LogConfig: { Type: "none", Config: {} },
        RestartPolicy: { Name: "no" },
        Binds: this.#parts.paths.binds(binds),
        Tmpfs: Object.fromEntries(free.map((volume) => [volume, VOLUME])),
      },
    };
  }
}

/** The output comes whole, since whoever listens was there first; the log driver may be off. */
export async function runOnce(
  docker: Docker,
  options: Docker.ContainerCreateOptions,
  bounds: Bounds,
): Promise<TemporaryEnd> {
  const container = await docker.createContainer(options);
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
    const heard = listen(docker, stream, bounds);
    // The usual condition is met by a container that has not started yet.
    const ended = container.wait({ condition: "next-exit" });
    ended.catch(() => {});
    await container.start();
    timer = setTimeout(() => stop(`it took longer than ${bounds.timeoutMs / 1000} s`), bounds.timeoutMs);
    if (bounds.check)
      checks = setInterval(async () => {
        const reason = await bounds.check!().catch(() => null);
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

function listen(
  docker: Docker,
  stream: NodeJS.ReadWriteStream,
  { onLine }: Bounds,
): Promise<{ output: string; stdout: string }> {
  let output = "";
  let stdout = "";
  const out = new PassThrough();
  const err = new PassThrough();
  docker.modem.demuxStream(stream, out, err);
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
