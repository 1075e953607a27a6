/** @module A box of WebAssembly: a guest's process with its folder, its socket and its storage. */
import { createHash } from "node:crypto";
import { chmod, chown, mkdir, statfs } from "node:fs/promises";
import path from "node:path";
import type { SessionSpec } from "@sandbar/shared";
import type { BindFolders } from "../box/bind-folders.ts";
import { boxesFolder, filesFolder, removeBoxFolder } from "../box/box-folders.ts";
import { resizeTmpfs } from "../box/mounts.ts";
import { egressOf } from "../egress/reachable.ts";
import type { ArrivalCheck, Box, BoxListener, BoxOptions, BoxUsage, Making } from "../engine/box.ts";
import { GuestChannel } from "../guest/guest-channel.ts";
import type { Config } from "../host/config.ts";
import { boundOf, type Cgroups } from "./cgroups.ts";
import { findGuest, killGuest, sandboxOf, startGuest, usageOf } from "./guest-process.ts";
import { makeMounts } from "./mounts.ts";
import { DEPENDENCIES_AT, type Packages } from "./packages.ts";
import { guestProgram, type WasmRuntime } from "./runtime.ts";

const TMPFS_MAGIC = 0x01021994;
const FIRST_UID = 0x40000000;
/** A box of the pool has no lifetime of its own. */
const POOL_AWAY_MS = 3600_000;

export interface WasmParts {
  readonly config: Config;
  readonly runtime: WasmRuntime;
  /** Whether its processes get a user of their own. */
  readonly ownUsers: boolean;
  /** Null where this daemon may make none. */
  readonly cgroups: Cgroups | null;
  readonly bindFolders: BindFolders;
  /** Null where this host cannot install any. */
  readonly packages: Packages | null;
  onExit(sandbox: string): void;
}

export class WasmBox implements Box {
  listener: BoxListener;
  readonly #options: BoxOptions;
  readonly #parts: WasmParts;
  readonly #folder: string;
  #channel: GuestChannel | null = null;
  #sandbox: string | null = null;
  #pid = 0;

  constructor(options: BoxOptions, parts: WasmParts) {
    this.#options = options;
    this.#parts = parts;
    this.listener = options.listener;
    this.#folder = path.join(boxesFolder(parts.config.home), options.id);
  }

  get channel(): GuestChannel | null {
    return this.#channel;
  }

  get sandbox(): string | null {
    return this.#sandbox;
  }

  async make({ signal, step, onSandbox }: Making): Promise<void> {
    const { id, session, spec } = this.#options;
    const { config, runtime, bindFolders, cgroups, onExit } = this.#parts;
    step("prepare", "");
    const uid = this.#uid();
    const wanted = Object.keys(spec.dependencies);
    if (wanted.length) step("dependencies", wanted.join(", ").slice(0, 200));
    const packages =
      session && wanted.length ? await this.#parts.packages!.provide(session.tenant, spec, signal) : null;
    await this.#makeFolders();
    const kernels = path.join(this.#folder, "kernels");
    await mkdir(kernels, { recursive: true, mode: 0o700 });
    const { mounts, bounded } = await makeMounts(
      config,
      bindFolders,
      session?.id ?? null,
      spec,
      filesFolder(this.#folder),
    );
    if (packages) mounts.push({ at: DEPENDENCIES_AT, root: packages, readOnly: true, counted: false });
    if (uid !== null)
      for (const { root } of [{ root: kernels }, ...mounts.filter(({ readOnly }) => !readOnly)])
        await chown(root, uid, uid);
    await cgroups?.bound(id, boundOf(spec.limits));
    await this.#listen(false);
    signal?.throwIfAborted();
    step("start", "WebAssembly");
    const sandbox = sandboxOf(id);
    this.#sandbox = sandbox;
    onSandbox(sandbox);
    const child = await startGuest(
      this.#folder,
      session?.id ?? "",
      guestProgram(runtime),
      {
        ...{
          socket: path.join(this.#folder, "run", "daemon.sock"),
          kernels,
          mounts,
          cgroup: cgroups?.of(id) ?? null,
        },
        ...{
          deno: runtime.deno,
          denoDir: runtime.denoDir,
          pyodide: runtime.pyodide,
          lockInfo: runtime.lockInfo,
        },
        ...{
          program: path.join(runtime.programs, "kernel"),
          package: runtime.package,
          snapshot: runtime.snapshot,
        },
        pooled: session === null,
        memoryMb: spec.limits.memory_mb,
        storageMb: bounded ? null : spec.limits.tmpfs_mb,
        egress: spec.network === "egress" ? egressOf(config.egress.allow) : null,
        awayMs: spec.max_lifetime_s > 0 ? spec.max_lifetime_s * 1000 : POOL_AWAY_MS,
      },
      uid,
      config.caBundle,
    );
    this.#pid = child.pid!;
    // Kernels are started later, when the daemon asks for one.
    await cgroups?.take(id, this.#pid);
    child.once("exit", () => onExit(sandbox));
  }

  async adopt(sandbox: string, tokenGiven: boolean): Promise<void> {
    this.#sandbox = sandbox;
    this.#pid = (await findGuest(this.#parts.config.home, sandbox))?.pid ?? 0;
    await this.#makeFolders();
    await this.#listen(tokenGiven);
  }

  async fit(_session: string, to: SessionSpec): Promise<ArrivalCheck | null> {
    const { limits } = this.#options.spec;
    // Its memory was decided when its kernel was started.
    if (to.limits.memory_mb !== limits.memory_mb) throw new Error("the box has another limit of memory");
    if (to.limits.tmpfs_mb !== limits.tmpfs_mb) {
      if (!(await this.#isTmpfs())) throw new Error("the box has another limit of storage");
      await resizeTmpfs(filesFolder(this.#folder), to.limits.tmpfs_mb);
      await this.#parts.cgroups?.bound(this.#options.id, boundOf(to.limits));
    }
    return null;
  }

  async nameAfter(): Promise<void> {}

  async usage(): Promise<BoxUsage | null> {
    const usage = this.#sandbox && usageOf(this.#pid);
    return usage ? { ...usage, diskBytes: await this.#diskBytes() } : null;
  }

  async destroy(): Promise<void> {
    const channel = this.#channel;
    this.#channel = null;
    const guest = await findGuest(this.#parts.config.home, this.#sandbox ?? sandboxOf(this.#options.id));
    if (guest) killGuest(guest);
    await channel?.close();
    await removeBoxFolder(this.#folder);
    await this.#parts.cgroups?.remove(this.#options.id);
  }

  async #isTmpfs(): Promise<boolean> {
    return (await statfs(filesFolder(this.#folder))).type === TMPFS_MAGIC;
  }

  async #diskBytes(): Promise<number | null> {
    const { type, bsize, blocks, bfree } = await statfs(filesFolder(this.#folder));
    return type === TMPFS_MAGIC ? (blocks - bfree) * bsize : null;
  }

  /** No two boxes have the same, so that none can signal another's processes or read its files. */
  #uid(): number | null {
    if (!this.#parts.ownUsers) return null;
    const hash = createHash("sha256").update(this.#options.id).digest();
    return FIRST_UID + (hash.readUInt32BE(0) & 0x0fffffff);
  }

  async #makeFolders(): Promise<void> {
    const boxes = boxesFolder(this.#parts.config.home);
    await mkdir(boxes, { recursive: true, mode: 0o700 });
    // Other users of the machine may pass, and list nothing.
    if (this.#parts.ownUsers) await chmod(boxes, 0o711);
    const run = path.join(this.#folder, "run");
    await mkdir(run, { recursive: true });
    for (const folder of [this.#folder, run]) await chmod(folder, 0o711);
  }

  async #listen(tokenGiven: boolean): Promise<void> {
    const { token, log } = this.#options;
    this.#channel = new GuestChannel({
      ...{ runFolder: path.join(this.#folder, "run"), token, tokenGiven, log },
      onHello: (hello) => this.listener.onHello(hello),
      onMessage: (message) => this.listener.onMessage(message),
      onDown: () => this.listener.onDown(),
      onProxied: (socket) => this.listener.onProxied(socket),
      onViolations: (reason) => this.listener.onViolations(reason),
    });
    await this.#channel.listen();
  }
}
