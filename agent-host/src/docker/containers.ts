/** @module Docker, as far as this host's own labelled containers go. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Language, type Limits, SandbarError, type SessionSpec } from "@sandbar/shared";
import Docker from "dockerode";
import type { FoundSandbox } from "../engine/engine.ts";
import type { Config } from "../host/config.ts";
import type { Log } from "../host/log.ts";
import { signalReason } from "../host/signal-reason.ts";
import { backoffMs } from "../io/backoff.ts";
import { containerName, containerOptions, LABEL, type Placement } from "./container-options.ts";
import { Egress } from "./egress.ts";
import { TEMPORARY_LABEL, TemporaryContainers } from "./temporary-container.ts";

const REMOVAL = { firstMs: 25, lastMs: 1000 };

export class Containers {
  readonly docker: Docker;
  readonly #config: Config;
  readonly #hostId: string;
  readonly egress: Egress;
  readonly temporary: TemporaryContainers;
  readonly #seccomp: string | null;

  constructor(config: Config, hostId: string, log: Log, docker: Docker = new Docker()) {
    this.docker = docker;
    this.#config = config;
    this.#hostId = hostId;
    this.egress = new Egress(docker, hostId, config.egress, log);
    this.#seccomp = readSeccomp(config.imagesDir, log);
    this.temporary = new TemporaryContainers(docker, hostId, config, this.#seccomp);
  }

  async create(
    spec: SessionSpec,
    placement: Omit<Placement, "host" | "seccomp" | "network">,
  ): Promise<string> {
    const network = spec.network === "egress" ? await this.egress.ensure() : "none";
    const options = containerOptions(this.#config, spec, {
      ...placement,
      host: this.#hostId,
      seccomp: this.#seccomp,
      network,
    });
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
      PidsLimit: limits.pids,
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
      .filter(({ Labels }) => !(TEMPORARY_LABEL in Labels))
      .map((info) => ({
        id: info.Id,
        session: info.Labels[LABEL.session] ?? "",
        box: info.Labels[LABEL.box] ?? "",
        running: info.State === "running" || info.State === "paused",
        createdAt: info.Created * 1000,
      }));
  }

  /** Folders of this host that a container of ours has mounted. */
  async mountedFolders(): Promise<Set<string>> {
    const filters = { label: [`${LABEL.host}=${this.#hostId}`] };
    const found = await this.docker.listContainers({ all: true, filters });
    return new Set(found.flatMap(({ Mounts }) => Mounts.map(({ Source }) => Source)));
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

function readSeccomp(imagesDir: string, log: Log): string | null {
  try {
    // Docker wants the profile itself, not its path, and without line breaks it is a third of the size.
    return JSON.stringify(JSON.parse(readFileSync(path.join(imagesDir, "seccomp.json"), "utf8")));
  } catch (error) {
    log.warn({ err: error }, "no seccomp profile of our own; containers get Docker's default");
    return null;
  }
}

function statusOf(error: unknown): number | undefined {
  return (error as { statusCode?: number } | null)?.statusCode;
}

function reasonOf(error: unknown): string {
  const said = (error as { json?: { message?: string } }).json?.message ?? (error as Error).message;
  return said.slice(0, 1000);
}
