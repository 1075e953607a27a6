/**
 * A box: one container with its folder, its socket and its storage, made in steps that each can be undone.
 *
 * @module
 */
import { chmod, mkdir } from "node:fs/promises";
import path from "node:path";
import type { Limits, SessionSpec } from "@sandbar/shared";
import { writeCgroupLimits } from "../docker/cgroup-limits.ts";
import type { Extras } from "../docker/container-options.ts";
import type { Containers } from "../docker/containers.ts";
import { GuestChannel, type GuestChannelOptions } from "../guest/guest-channel.ts";
import type { Config } from "../host/config.ts";
import type { Log } from "../host/log.ts";
import { boxesFolder, filesFolder, removeBoxFolder } from "./box-folders.ts";
import { type Mounted, mountLate } from "./late-mounts.ts";
import { resizeTmpfs } from "./mounts.ts";
import { prepareStorage } from "./storage.ts";

const TELL_DOCKER_AFTER_MS = 300;

export type BoxListener = Pick<GuestChannelOptions, "onHello" | "onMessage" | "onDown" | "onViolations">;

export interface BoxOptions {
  readonly id: string;
  /** Null as long as it is in the pool. */
  readonly session: string | null;
  /** Whether a claim can mount into it while it runs. */
  readonly late: boolean;
  readonly spec: SessionSpec;
  readonly token: string;
  readonly config: Config;
  readonly containers: Containers;
  readonly log: Log;
  readonly listener: BoxListener;
}

export class Box {
  readonly #options: BoxOptions;
  readonly #folder: string;
  /** Who hears the guest: the pool until a session claims the box. */
  listener: BoxListener;
  #channel: GuestChannel | null = null;
  #container: string | null = null;

  constructor(options: BoxOptions) {
    this.#options = options;
    this.listener = options.listener;
    this.#folder = path.join(boxesFolder(options.config.home), options.id);
  }

  get channel(): GuestChannel | null {
    return this.#channel;
  }

  get container(): string | null {
    return this.#container;
  }

  /** From nothing to a started container; `onContainer` must write the id down before anything runs in it. */
  async make(
    image: string,
    step: (name: string, detail: string) => void,
    onContainer: (id: string) => void,
    extras?: Extras,
  ): Promise<void> {
    const { id, session, spec, config, containers, late, log } = this.#options;
    const runFolder = await this.#makeFolders();
    const [storage] = await Promise.all([
      prepareStorage(config, session, spec, filesFolder(this.#folder), late, log),
      this.#listen(false),
    ]);
    step("container", image);
    this.#container = await containers.create(spec, { session, box: id, image, runFolder, storage, extras });
    onContainer(this.#container);
    step("start", "");
    await containers.start(this.#container, image);
  }

  /** The container runs already, from an earlier daemon: its guest dials again as soon as the socket is back. */
  async adopt(container: string, tokenGiven: boolean): Promise<void> {
    this.#container = container;
    await this.#makeFolders();
    await this.#listen(tokenGiven);
  }

  /** Other limits and mounts than it was made with, while it runs; throws when that cannot be. */
  async fit(session: string, to: SessionSpec): Promise<Mounted | null> {
    const { config, spec } = this.#options;
    const container = this.#container!;
    const files = filesFolder(this.#folder);
    const [mounted] = await Promise.all([
      mountLate(config, session, to, files),
      to.limits.tmpfs_mb === spec.limits.tmpfs_mb || resizeTmpfs(files, to.limits.tmpfs_mb),
      sameCgroupLimits(spec.limits, to.limits) || this.#limit(container, to.limits),
    ]);
    return mounted;
  }

  async #limit(container: string, to: Limits): Promise<void> {
    const { containers, log } = this.#options;
    if (!(await writeCgroupLimits(container, to))) return containers.update(container, to);
    // They hold already; this is for Docker's own book, which takes it ten times as long.
    setTimeout(() => {
      if (this.#channel)
        containers
          .update(container, to)
          .catch((error) => log.warn({ err: error, container }, "Docker does not know the new limits"));
    }, TELL_DOCKER_AFTER_MS);
  }

  /** Everything but a BIND folder goes. */
  async destroy(): Promise<void> {
    const channel = this.#channel;
    this.#channel = null;
    const container = this.#container;
    await Promise.all([container && this.#options.containers.remove(container), channel?.close()]);
    // Only now: what a claim has mounted leaves the box in the same moment.
    await removeBoxFolder(this.#folder);
  }

  async #makeFolders(): Promise<string> {
    // Other users of the host must not even list boxes; inside the container only the bound folder's own mode counts.
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const runFolder = path.join(this.#folder, "run");
    await mkdir(runFolder, { recursive: true });
    await chmod(runFolder, 0o711);
    return runFolder;
  }

  async #listen(tokenGiven: boolean): Promise<void> {
    const { token, log } = this.#options;
    const runFolder = path.join(this.#folder, "run");
    this.#channel = new GuestChannel({
      runFolder,
      token,
      tokenGiven,
      log,
      onHello: (hello) => this.listener.onHello(hello),
      onMessage: (message) => this.listener.onMessage(message),
      onDown: () => this.listener.onDown(),
      onViolations: (reason) => this.listener.onViolations(reason),
    });
    await this.#channel.listen();
  }
}

function sameCgroupLimits(a: Limits, b: Limits): boolean {
  return a.memory_mb === b.memory_mb && a.cpus === b.cpus && a.pids === b.pids;
}
