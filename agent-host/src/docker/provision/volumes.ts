/**
 * Named volumes: storage of a tenant on this host that outlives sessions. Each is a file system of its own in a file, so
 * its size is a wall and not a wish; where that cannot be had it is a folder whose size is looked at before each use.
 *
 * @module
 */
import { execFile } from "node:child_process";
import { mkdir, readdir, rename, rm, stat, statfs } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { SandbarError, type SessionSpec, VOLUME_MB } from "@sandbar/shared";
import { makeImage, mountImage } from "../../box/image-file.ts";
import { isMounted } from "../../box/mounts.ts";
import type { HostVolumes } from "../../engine/engine.ts";
import type { Config } from "../../host/config.ts";
import type { Log } from "../../host/log.ts";
import type { Containers } from "../containers.ts";
import { unmountBelow } from "../host-traces.ts";
import { SANDBOX_ID, type Users } from "../users.ts";

const run = promisify(execFile);
const SAFE = /^[a-z0-9][a-z0-9_-]{0,62}$/;
const MB = 1024 * 1024;
const LEAVING_MS = 5000;
const PAUSE_MS = 100;

function volumesFolder(home: string): string {
  return path.join(home, "volumes");
}

/** Where no tenant's name leads: volumes of a host that was removed are nobody's, but somebody's work is in them. */
export async function layVolumesAside(home: string, hostId: string): Promise<void> {
  const root = volumesFolder(home);
  const tenants = (await readdir(root).catch(() => [])).filter((name) => SAFE.test(name));
  if (tenants.length === 0) return;
  await unmountBelow(root);
  const aside = path.join(root, `${hostId}.removed`);
  await mkdir(aside, { recursive: true, mode: 0o700 });
  for (const tenant of tenants) await rename(path.join(root, tenant), path.join(aside, tenant));
}

export class Volumes implements HostVolumes {
  readonly #config: Config;
  readonly #containers: Containers;
  readonly #users: Users;
  readonly #log: Log;
  readonly #root: string;
  #last: Promise<unknown> = Promise.resolve();

  constructor(config: Config, containers: Containers, users: Users, log: Log) {
    this.#users = users;
    this.#config = config;
    this.#containers = containers;
    this.#log = log;
    this.#root = volumesFolder(config.home);
  }

  /** Docker's bind strings; made on first use, mounted again after a restart of the machine. */
  async provide(tenant: string, { volumes, volume_sizes = {} }: SessionSpec): Promise<string[]> {
    const { maxVolumeMb } = this.#config;
    const binds: string[] = [];
    for (const { name, path: inside } of volumes) {
      const sizeMb = volume_sizes[name] ?? Math.min(VOLUME_MB, maxVolumeMb);
      if (sizeMb > maxVolumeMb)
        throw new SandbarError(
          "LIMIT_EXCEEDED",
          `the volume ${name} may have ${maxVolumeMb} MB on this host`,
        );
      const folder = await this.#inTurn(() => this.#ready(tenant, name, sizeMb));
      binds.push(`${folder}:${inside}:rw`);
    }
    return binds;
  }

  /** False when there was no such volume; refuses while a container has it. */
  async remove(tenant: string, name: string): Promise<boolean> {
    return this.#inTurn(async () => {
      const { folder, image } = this.#places(tenant, name);
      if (!(await stat(folder).catch(() => null))) return false;
      // The container of a session that was just stopped may be on its way out.
      for (let waited = 0; waited < LEAVING_MS && (await this.#isUsed(folder)); waited += PAUSE_MS)
        await sleep(PAUSE_MS);
      if (await this.#isUsed(folder))
        throw new SandbarError("VOLUME_IN_USE", `a session on this host has ${name} mounted`);
      while (await isMounted(folder)) await run("umount", [folder]);
      await rm(folder, { recursive: true, force: true });
      await rm(image, { force: true });
      this.#log.info({ tenant, volume: name }, "removed a volume");
      return true;
    });
  }

  /** Bytes in use, by name, of those that are here. */
  async sizes(tenant: string): Promise<Record<string, number>> {
    const found: Record<string, number> = {};
    if (!SAFE.test(tenant)) return found;
    for (const name of await readdir(path.join(this.#root, tenant)).catch(() => []))
      if (SAFE.test(name)) found[name] = await usedBytes(path.join(this.#root, tenant, name));
    return found;
  }

  /** For a host that is drained; what is in them stays. */
  async unmountAll(): Promise<void> {
    for (const tenant of await readdir(this.#root).catch(() => []))
      for (const name of await readdir(path.join(this.#root, tenant))) {
        const folder = path.join(this.#root, tenant, name);
        if (await isMounted(folder)) await run("umount", [folder]);
      }
  }

  async #isUsed(folder: string): Promise<boolean> {
    return (await this.#containers.mountedFolders()).has(folder);
  }

  async #ready(tenant: string, name: string, sizeMb: number): Promise<string> {
    const { folder, image } = this.#places(tenant, name);
    const existed = await stat(image).catch(() => null);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    if (existed) {
      if (!(await isMounted(folder))) await mountImage(image, folder);
    } else if (
      this.#config.mountsAreSeen &&
      !(await hasContent(folder)) &&
      (await this.#makeImage(image, folder, sizeMb))
    ) {
      this.#log.info({ tenant, volume: name, size_mb: sizeMb }, "made a volume");
    } else {
      if ((await usedBytes(folder)) > sizeMb * MB)
        throw new SandbarError("STORAGE_FULL", `the volume ${name} holds more than its ${sizeMb} MB`);
    }
    const user = this.#users.ofTenant(tenant);
    const { uid } = await stat(folder);
    if (uid === user) return folder;
    // Of a time when all sandboxes were one user, and one of those still writes to it.
    if (uid === SANDBOX_ID && (await this.#isUsed(folder)))
      throw new SandbarError(
        "VOLUME_IN_USE",
        `a session from before this host's upgrade has ${name} mounted; it must end first`,
      );
    await run("chown", ["-Rh", `${user}:${SANDBOX_ID}`, folder]);
    return folder;
  }

  async #makeImage(image: string, folder: string, sizeMb: number): Promise<boolean> {
    try {
      await makeImage(image, sizeMb);
      await mountImage(image, folder);
      return true;
    } catch (error) {
      this.#log.warn(
        { err: error },
        "cannot make a file system in a file; the volume's size is not enforced",
      );
      await rm(image, { force: true });
      return false;
    }
  }

  #places(tenant: string, name: string): { folder: string; image: string } {
    if (!SAFE.test(tenant) || !SAFE.test(name))
      throw new SandbarError("SESSION_START_FAILED", "the volume's name cannot be a folder's");
    const folder = path.join(this.#root, tenant, name);
    return { folder, image: `${folder}.ext4` };
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#last.then(work);
    this.#last = next.catch(() => {});
    return next;
  }
}

async function hasContent(folder: string): Promise<boolean> {
  return (await readdir(folder)).length > 0;
}

async function usedBytes(folder: string): Promise<number> {
  if (await isMounted(folder)) {
    const { blocks, bfree, bsize } = await statfs(folder);
    return (blocks - bfree) * bsize;
  }
  const { stdout } = await run("du", ["-sk", folder]).catch((error) => error as { stdout: string });
  return (Number.parseInt(stdout, 10) || 0) * 1024;
}
