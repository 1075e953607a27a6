/** @module Docker, as far as this host's own labelled containers go. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Language, type Limits, SandbarError, type SessionSpec } from "@sandbar/shared";
import type Docker from "dockerode";
import type { FoundSandbox } from "../engine/engine.ts";
import type { Config } from "../host/config.ts";
import type { Log } from "../host/log.ts";
import { signalReason } from "../host/signal-reason.ts";
import { backoffMs } from "../io/backoff.ts";
import type { CgroupUsage } from "./cgroup-usage.ts";
import { containerName, containerOptions, type Placement } from "./container-options.ts";
import { Egress } from "./egress.ts";
import { EnginePaths } from "./engine-paths.ts";
import type { FoundEngine } from "./found-engine.ts";
import { Images } from "./image-facts.ts";
import { countsProcesses } from "./isolation.ts";
import { LABEL } from "./labels.ts";
import { packetFilter } from "./packet-filter.ts";
import { tmpfsInPodman } from "./podman.ts";
import { TemporaryContainers } from "./temporary-container.ts";
import type { Users } from "./users.ts";

const REMOVAL = { firstMs: 25, lastMs: 1000 };

export class Containers {
  readonly docker: Docker;
  readonly #config: Config;
  readonly #hostId: string;
  readonly egress: Egress;
  readonly temporary: TemporaryContainers;
  readonly images: Images;
  readonly #paths: EnginePaths;
  readonly #podman: boolean;
  #profile: string | null = null;

  constructor(config: Config, hostId: string, { docker, own, podman }: FoundEngine, users: Users, log: Log) {
    this.docker = docker;
    this.#config = config;
    this.#hostId = hostId;
    this.#paths = new EnginePaths(own);
    this.#podman = podman;
    this.egress = new Egress(docker, hostId, config.egress, packetFilter(docker, hostId, own), log);
    this.images = new Images(docker, hostId, log);
    this.temporary = new TemporaryContainers(docker, hostId, config, {
      seccomp: () => this.#seccomp(),
      volumes: async (image) => (await this.images.facts(image)).volumes,
      paths: this.#paths,
      users,
    });
  }

  async create(
    spec: SessionSpec,
    placement: Omit<Placement, "host" | "seccomp" | "network">,
  ): Promise<string> {
    const network = spec.network === "egress" ? await this.egress.ensure() : "none";
    const options = containerOptions(this.#config, spec, {
      ...placement,
      host: this.#hostId,
      seccomp: this.#seccomp(),
      network,
    });
    const { HostConfig = {} } = options;
    HostConfig.Binds = this.#paths.binds(HostConfig.Binds ?? []);
    if (this.#podman) HostConfig.Tmpfs = tmpfsInPodman(HostConfig.Tmpfs ?? {});
    try {
      return (await this.docker.createContainer(options)).id;
    } catch (error) {
      if (statusOf(error) === 404)
        throw new SandbarError("IMAGE_NOT_FOUND", `${placement.image} is not on this host`);
      throw new SandbarError(
        "SESSION_START_FAILED",
        `Docker could not create the container: ${reasonOf(error)}`,
      );
    }
  }

  /** Without it there is no session: Docker's own profile lets through what ours does not. */
  #seccomp(): string {
    if (this.#profile === null) {
      const { imagesDir, runtimeDir } = this.#config;
      const file = seccompFile(this.#podman ? runtimeDir : imagesDir);
      const profile = readSeccomp(file);
      this.#profile = this.#podman ? this.#paths.ofEngine(file) : profile;
    }
    return this.#profile;
  }

  async start(id: string, image: string): Promise<void> {
    try {
      await this.docker.getContainer(id).start();
    } catch (error) {
      const reason = reasonOf(error);
      if (/executable file not found|no such file or directory/.test(reason) && reason.includes("python3"))
        throw new SandbarError("IMAGE_UNSUPPORTED", `${image} has no python3`);
      throw new SandbarError("SESSION_START_FAILED", `Docker could not start the container: ${reason}`);
    }
  }

  async update(id: string, limits: Limits): Promise<void> {
    const memory = limits.memory_mb * 1024 * 1024;
    await this.docker.getContainer(id).update({
      Memory: memory,
      MemorySwap: memory,
      NanoCpus: Math.round(limits.cpus * 1e9),
      ...(countsProcesses(this.#config.runtime) && { PidsLimit: limits.pids }),
    });
  }

  async rename(id: string, session: string): Promise<void> {
    await this.docker.getContainer(id).rename({ name: containerName(session) });
  }

  async imageId(image: string): Promise<string> {
    return (await this.docker.getImage(image).inspect()).Id;
  }

  async remove(id: string): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.docker.getContainer(id).remove({ force: true, v: true });
      } catch (error) {
        if (statusOf(error) === 404) return;
        // 409: a removal is under way; anything else may be Docker being busy.
        if (attempt >= 20) throw error;
        await sleep(backoffMs(attempt, REMOVAL));
      }
    }
  }

  /** Null while it runs; otherwise why it does not. */
  async deathOf(id: string): Promise<string | null> {
    try {
      const { State } = await this.docker.getContainer(id).inspect();
      if (State.Running) return null;
      if (State.Error) return State.Error.slice(0, 1000);
      const reason =
        State.ExitCode > 128 && State.ExitCode < 160
          ? signalReason(State.ExitCode - 128)
          : `exit code ${State.ExitCode}`;
      // Docker sets this for any process that the memory limit ended, also one that the session survived.
      return State.OOMKilled ? `${reason}; the sandbox had run out of memory` : reason;
    } catch (error) {
      if (statusOf(error) === 404) return "the container is gone";
      throw error;
    }
  }

  async list(): Promise<FoundSandbox[]> {
    const filters = { label: [`${LABEL.host}=${this.#hostId}`] };
    const found = await this.docker.listContainers({ all: true, filters });
    return found
      .filter(({ Labels }) => !(LABEL.temporary in Labels))
      .map((info) => ({
        id: info.Id,
        session: info.Labels[LABEL.session] ?? "",
        box: info.Labels[LABEL.box] ?? "",
        running: info.State === "running" || info.State === "paused",
        createdAt: info.Created * 1000,
      }));
  }

  /** Folders of this daemon that a container of ours has mounted. */
  async mountedFolders(): Promise<Set<string>> {
    const filters = { label: [`${LABEL.host}=${this.#hostId}`] };
    const found = await this.docker.listContainers({ all: true, filters });
    return new Set(found.flatMap(({ Mounts }) => Mounts.map(({ Source }) => this.#paths.ofDaemon(Source))));
  }

  /** What Docker counts itself; a call for each container, so for where the kernel's own books cannot be read. */
  async usage(id: string): Promise<CgroupUsage> {
    const { cpu_stats, memory_stats, pids_stats } = await this.docker
      .getContainer(id)
      .stats({ stream: false, "one-shot": true });
    const { inactive_file = 0, total_inactive_file = inactive_file } = memory_stats.stats ?? {};
    return {
      cpuUs: cpu_stats.cpu_usage.total_usage / 1000,
      memoryBytes: Math.max(0, (memory_stats.usage ?? 0) - total_inactive_file),
      processes: pids_stats?.current ?? 0,
    };
  }

  async hasImage(image: string): Promise<boolean> {
    return this.docker
      .getImage(image)
      .inspect()
      .then(() => true)
      .catch((error) => {
        if (statusOf(error) === 404) return false;
        throw error;
      });
  }

  imageOf(spec: SessionSpec): string {
    const own = this.#config.images[spec.runtime as Language];
    if (!spec.image || spec.image === own) return own;
    const allowed = this.#config.allowedImages.some((pattern) =>
      pattern.endsWith("*") ? spec.image!.startsWith(pattern.slice(0, -1)) : pattern === spec.image,
    );
    if (!allowed) throw new SandbarError("IMAGE_NOT_ALLOWED", `${spec.image} is not on this host's list`);
    return spec.image;
  }
}

const seccompFile = (folder: string) => path.join(folder, "seccomp.json");

function readSeccomp(file: string): string {
  try {
    // Docker wants the profile itself, not its path as Podman does, and without line breaks it is a third of the size.
    return JSON.stringify(JSON.parse(readFileSync(file, "utf8")));
  } catch (error) {
    throw new SandbarError(
      "SESSION_START_FAILED",
      `the host's seccomp profile could not be read: ${(error as Error).message}`,
    );
  }
}

function statusOf(error: unknown): number | undefined {
  return (error as { statusCode?: number } | null)?.statusCode;
}

function reasonOf(error: unknown): string {
  const said = (error as { json?: { message?: string } }).json?.message ?? (error as Error).message;
  return said.slice(0, 1000);
}
