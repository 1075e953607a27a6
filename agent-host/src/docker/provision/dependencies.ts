/**
 * A session's packages: installed once per tenant, image and list, in a container of their own that has the network which the
 * session may not have, and mounted read-only from then on.
 *
 * @module
 */
import { execFile } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { chown, mkdir, readdir, rename, rm, stat, utimes } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { SandbarError, type SessionSpec } from "@sandbar/shared";
import { folderSize } from "../../box/folder-size.ts";
import { explainFailure } from "../../engine/dependency-list.ts";
import type { Config } from "../../host/config.ts";
import { diskRefusal } from "../../host/free-disk.ts";
import type { Log } from "../../host/log.ts";
import { Turns } from "../../io/turns.ts";
import type { Extras } from "../container-options.ts";
import type { Containers } from "../containers.ts";
import { networkSettings } from "../network-settings.ts";
import { SANDBOX_ID, type Users } from "../users.ts";
import { INSTALL, type Installer, installerFor } from "./installers.ts";

const run = promisify(execFile);
const AT_ONCE = 2;
/** A folder that was asked for so recently may be about to be mounted. */
const RECENT_MS = 10 * 60_000;
/** Earlier daemons had one for all installations of a tenant. */
const SHARED_CACHE = ".cache";
const SAFE_TENANT = /^[a-z0-9][a-z0-9_-]{0,62}$/;

type Step = (detail: string) => void;

interface Wanted {
  readonly tenant: string;
  readonly image: string;
  readonly spec: SessionSpec;
}

export class Dependencies {
  readonly #config: Config;
  readonly #containers: Containers;
  readonly #users: Users;
  readonly #log: Log;
  readonly #root: string;
  readonly #turns = new Turns(AT_ONCE);
  /** Sessions that want the same wait for one installation. */
  readonly #installing = new Map<string, { done: Promise<void>; steps: Set<Step> }>();

  constructor(config: Config, containers: Containers, users: Users, log: Log) {
    this.#users = users;
    this.#config = config;
    this.#containers = containers;
    this.#log = log;
    this.#root = path.join(config.home, "deps");
  }

  /** Removes what an earlier daemon left half done. */
  async start(): Promise<void> {
    await this.#containers.temporary.removeAll();
    for (const { folder, name } of await this.#entries(true))
      if (name.endsWith(".part") || name === SHARED_CACHE) await rm(folder, { recursive: true, force: true });
  }

  async provide(wanted: Wanted, step: Step): Promise<Extras> {
    const { tenant, image, spec } = wanted;
    if (!SAFE_TENANT.test(tenant)) throw new SandbarError("DEPENDENCY_FAILED", "the tenant has no folder");
    const installer = installerFor(spec.runtime, spec.dependencies, this.#config);
    const id = await this.#containers.imageId(image);
    const folder = path.join(this.#root, tenant, key(id, spec, this.#config.rRepos));
    if (!(await exists(folder))) {
      let installing = this.#installing.get(folder);
      if (!installing) {
        const steps = new Set<Step>();
        const tell = (line: string) => {
          for (const say of steps) say(line);
        };
        const done = this.#turns
          .take(() => this.#users.borrow((user) => this.#install(folder, user, wanted, installer, tell)))
          .finally(() => this.#installing.delete(folder));
        done.catch(() => {});
        installing = { done, steps };
        this.#installing.set(folder, installing);
      }
      installing.steps.add(step);
      await installing.done.finally(() => {
        installing.steps.delete(step);
        void this.trim().catch((error) => this.#log.warn({ err: error }, "could not trim the dependencies"));
      });
    } else step("installed before");
    const now = new Date();
    await utimes(folder, now, now);
    return { binds: installer.binds(path.join(folder, "lib")), env: installer.env };
  }

  async #install(
    folder: string,
    user: number,
    { tenant, image, spec }: Wanted,
    { command, target }: Installer,
    step: Step,
  ): Promise<void> {
    await mkdir(path.join(this.#root, tenant), { recursive: true, mode: 0o700 });
    const part = `${folder}-${randomBytes(4).toString("hex")}.part`;
    const place = async (...names: string[]) => {
      const made = path.join(...names);
      await mkdir(made, { recursive: true });
      await chown(made, user, SANDBOX_ID);
      return made;
    };
    try {
      await mkdir(part);
      const lib = await place(part, "lib");
      const temp = await place(part, "tmp");
      const work = await place(part, "work");
      // Its own: what install scripts of one list leave there must never be another's.
      const cache = await place(part, "cache");
      const settings = networkSettings(this.#config, true);
      const began = performance.now();
      const end = await this.#containers.temporary.run({
        image,
        user,
        command,
        env: settings.env,
        binds: [
          ...settings.binds,
          `${this.#config.runtimeDir}/installers:${INSTALL.scripts}:ro`,
          ...localRepositories(spec.runtime, this.#config.rRepos),
          `${cache}:${INSTALL.cache}`,
          `${temp}:/tmp`,
          `${work}:${INSTALL.work}`,
          `${lib}:${target}`,
        ],
        network: await this.#containers.egress.ensure(),
        timeoutMs: this.#config.installTimeoutMs,
        onLine: (line) => step(line.slice(0, 200)),
        check: async () => (await this.#tooLarge(part)) ?? diskRefusal(this.#config),
      });
      const stopped = end.stopped ?? (await this.#tooLarge(part));
      if (end.exitCode !== 0 || stopped)
        throw new SandbarError("DEPENDENCY_FAILED", explainFailure(spec.dependencies, end.output, stopped));
      // Sessions are other users, and nobody shall change it.
      await run("chown", ["-Rh", "0:0", lib]);
      await run("chmod", ["-R", "a+rX,go-w,a-s", lib]);
      for (const left of [temp, work, cache]) await rm(left, { recursive: true, force: true });
      await rename(part, folder);
      this.#log.info({ tenant, ms: Math.round(performance.now() - began) }, "dependencies installed");
    } catch (error) {
      await rm(part, { recursive: true, force: true });
      if (error instanceof SandbarError) throw error;
      const missing = /executable file not found|no such file or directory/.test(String(error));
      throw new SandbarError(
        "DEPENDENCY_FAILED",
        `${Object.keys(spec.dependencies)[0]}: ${missing ? `the image has no ${command[0]}` : (error as Error).message.slice(0, 1000)}`,
      );
    }
  }

  async #tooLarge(folder: string): Promise<string | null> {
    const { depsCacheBytes } = this.#config;
    if ((await folderSize(folder)) <= depsCacheBytes) return null;
    return `it takes more than the ${depsCacheBytes / 1024 / 1024} MB of SANDBAR_DEPS_CACHE_MB`;
  }

  /** The least recently used go first; what a container has mounted, or is about to, stays. */
  async trim(maxBytes = this.#config.depsCacheBytes): Promise<void> {
    const entries = await Promise.all(
      (await this.#entries(false)).map(async (entry) => ({
        ...entry,
        bytes: await folderSize(entry.folder),
      })),
    );
    let total = entries.reduce((sum, { bytes }) => sum + bytes, 0);
    if (total <= maxBytes) return;
    const mounted = await this.#containers.mountedFolders();
    const old = entries
      .filter(
        ({ usedAt, folder }) => Date.now() - usedAt > RECENT_MS && !mounted.has(path.join(folder, "lib")),
      )
      .sort((a, b) => a.usedAt - b.usedAt);
    for (const { folder, bytes } of old) {
      if (total <= maxBytes) return;
      await rm(folder, { recursive: true, force: true });
      total -= bytes;
      this.#log.info({ folder, bytes }, "removed dependencies that nobody used lately");
    }
  }

  async #entries(parts: boolean): Promise<{ folder: string; name: string; usedAt: number }[]> {
    const found: { folder: string; name: string; usedAt: number }[] = [];
    for (const tenant of await readdir(this.#root).catch(() => []))
      for (const name of await readdir(path.join(this.#root, tenant))) {
        if (name.endsWith(".part") && !parts) continue;
        const folder = path.join(this.#root, tenant, name);
        found.push({ folder, name, usedAt: (await stat(folder)).mtimeMs });
      }
    return found;
  }
}

function key(imageId: string, spec: SessionSpec, repos: readonly string[]): string {
  const list = Object.entries(spec.dependencies).sort(([a], [b]) => (a < b ? -1 : 1));
  const parts = [imageId, spec.runtime, list, spec.runtime === "r" ? repos : null];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 32);
}

/** A mirror on this machine is seen at the same path. */
function localRepositories(runtime: string, repos: readonly string[]): string[] {
  const folders = repos.filter((repo) => repo.startsWith("file:///")).map((repo) => fileURLToPath(repo));
  return runtime === "r" ? folders.map((folder) => `${folder}:${folder}:ro`) : [];
}

async function exists(folder: string): Promise<boolean> {
  return stat(folder).then(
    () => true,
    () => false,
  );
}
