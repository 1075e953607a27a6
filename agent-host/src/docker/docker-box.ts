/**
 * A box of Docker: one container with its folder, its socket and its storage, made in steps that each can be undone.
 *
 * @module
 */
import { chmod, mkdir, statfs, writeFile } from "node:fs/promises";
import path from "node:path";
import type { Limits, SessionSpec } from "@sandbar/shared";
import type { BindFolders } from "../box/bind-folders.ts";
import { boxesFolder, filesFolder, removeBoxFolder } from "../box/box-folders.ts";
import { resizeTmpfs } from "../box/mounts.ts";
import type { ArrivalCheck, Box, BoxListener, BoxOptions, BoxUsage, Making } from "../engine/box.ts";
import { GuestChannel } from "../guest/guest-channel.ts";
import type { Config } from "../host/config.ts";
import { writeCgroupLimits } from "./cgroup-limits.ts";
import { type CgroupUsage, openCgroup } from "./cgroup-usage.ts";
import type { Containers } from "./containers.ts";
import { passwdWith } from "./image-facts.ts";
import { countsProcesses } from "./isolation.ts";
import { type LateMounts, mountLate } from "./late-mounts.ts";
import type { Preparation } from "./provision/preparation.ts";
import { prepareStorage } from "./storage.ts";
import { SANDBOX_ID, type Users } from "./users.ts";

const TELL_DOCKER_AFTER_MS = 1000;
const TMPFS_MAGIC = 0x01021994;

export interface DockerParts {
  readonly config: Config;
  readonly containers: Containers;
  readonly preparation: Preparation;
  readonly lateMounts: LateMounts;
  readonly bindFolders: BindFolders;
  readonly users: Users;
}

export class DockerBox implements Box {
  listener: BoxListener;
  readonly #options: BoxOptions;
  readonly #parts: DockerParts;
  readonly #folder: string;
  /** Whether a claim can mount into it while it runs. */
  readonly #late: boolean;
  #channel: GuestChannel | null = null;
  #container: string | null = null;
  /** Found when it is first asked for. */
  #cgroup: (() => CgroupUsage) | null = null;

  constructor(options: BoxOptions, parts: DockerParts) {
    this.#options = options;
    this.#parts = parts;
    this.listener = options.listener;
    this.#folder = path.join(boxesFolder(parts.config.home), options.id);
    this.#late = options.session === null && parts.lateMounts.possible;
  }

  get channel(): GuestChannel | null {
    return this.#channel;
  }

  get sandbox(): string | null {
    return this.#container;
  }

  async make({ signal, step, onSandbox }: Making): Promise<void> {
    const { id, session, spec, log } = this.#options;
    const { containers, preparation, lateMounts, users } = this.#parts;
    const image = containers.imageOf(spec);
    step("prepare", "");
    const extras = session ? await preparation.prepare(session.tenant, spec, image, step, signal) : undefined;
    const { passwd, volumes } = await containers.images.facts(image);
    const runFolder = await this.#makeFolders();
    // Before its folder has the number of another.
    const user = session && spec.volumes.length ? users.giveTenants(id, session.tenant) : users.ofBox(id);
    const passwdFile = user === SANDBOX_ID ? null : path.join(this.#folder, "passwd");
    if (passwdFile) await writeFile(passwdFile, passwdWith(passwd, user, SANDBOX_ID), { mode: 0o644 });
    const owner = session?.id ?? null;
    const [storage] = await Promise.all([
      prepareStorage(
        this.#parts,
        owner,
        spec,
        { folder: filesFolder(this.#folder), user, volumes },
        this.#late,
        log,
      ),
      this.#listen(false),
    ]);
    signal?.throwIfAborted();
    step("container", image);
    const placement = {
      session: owner,
      box: id,
      image,
      runFolder,
      storage,
      user,
      passwd: passwdFile,
      extras,
    };
    this.#container = await containers.create(spec, placement);
    onSandbox(this.#container);
    signal?.throwIfAborted();
    step("start", "");
    await containers.start(this.#container, image).catch((error: Error) => {
      if (this.#late) lateMounts.onFailedStart(error);
      throw error;
    });
  }

  async adopt(container: string, tokenGiven: boolean): Promise<void> {
    this.#container = container;
    await this.#makeFolders();
    await this.#listen(tokenGiven);
  }

  async fit(session: string, to: SessionSpec): Promise<ArrivalCheck | null> {
    const { id, spec } = this.#options;
    const { lateMounts, users } = this.#parts;
    const container = this.#container!;
    const files = filesFolder(this.#folder);
    const [mounted] = await Promise.all([
      mountLate(this.#parts, { session, user: users.ofBox(id) }, to, files),
      to.limits.tmpfs_mb === spec.limits.tmpfs_mb || resizeTmpfs(files, to.limits.tmpfs_mb),
      sameCgroupLimits(spec.limits, to.limits) || this.#limit(container, to.limits),
    ]);
    return mounted && ((found) => lateMounts.check(mounted, found));
  }

  async nameAfter(session: string): Promise<void> {
    await this.#parts.containers.rename(this.#container!, session);
  }

  async usage(): Promise<BoxUsage | null> {
    if (!this.#container) return null;
    this.#cgroup ??= openCgroup(this.#container);
    const usage = this.#cgroup?.() ?? (await this.#parts.containers.usage(this.#container));
    return { ...usage, diskBytes: await this.#diskBytes() };
  }

  /** Null where the files are not in a file system of their own. */
  async #diskBytes(): Promise<number | null> {
    const found = await statfs(filesFolder(this.#folder)).catch(() => null);
    if (!found) return null;
    const { type, bsize, blocks, bfree } = found;
    return type === TMPFS_MAGIC ? (blocks - bfree) * bsize : null;
  }

  async destroy(): Promise<void> {
    const channel = this.#channel;
    this.#channel = null;
    const container = this.#container;
    await Promise.all([container && this.#parts.containers.remove(container), channel?.close()]);
    // Only now: what a claim has mounted leaves the box in the same moment.
    await removeBoxFolder(this.#folder);
  }

  async #limit(container: string, to: Limits): Promise<void> {
    const { config, containers } = this.#parts;
    if (!(await writeCgroupLimits(container, to, countsProcesses(config.runtime))))
      return containers.update(container, to);
    // They hold already; this is for Docker's own book, which takes it ten times as long.
    setTimeout(() => {
      if (this.#channel)
        containers
          .update(container, to)
          .catch((error) =>
            this.#options.log.warn({ err: error, container }, "Docker does not know the new limits"),
          );
    }, TELL_DOCKER_AFTER_MS);
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
      onProxied: (socket) => this.listener.onProxied(socket),
      onViolations: (reason) => this.listener.onViolations(reason),
    });
    await this.#channel.listen();
  }
}

function sameCgroupLimits(a: Limits, b: Limits): boolean {
  return a.memory_mb === b.memory_mb && a.cpus === b.cpus && a.pids === b.pids;
}
