/**
 * A session's packages in WebAssembly: wheels that need no building, unpacked on the host once per tenant and list, and seen
 * read-only from then on.
 *
 * @module
 */
import { execFile } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdir, readdir, rename, rm, stat, utimes } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import {
  METADATA_V4,
  METADATA_V6,
  SandbarError,
  type SessionSpec,
  SPECIAL_V4,
  SPECIAL_V6,
} from "@sandbar/shared";
import { folderSize } from "../box/folder-size.ts";
import { explainFailure, pythonRequirements, requireNames } from "../engine/dependency-list.ts";
import type { Config } from "../host/config.ts";
import type { Log } from "../host/log.ts";
import { commandOf } from "../io/process-facts.ts";
import { Turns } from "../io/turns.ts";
import { listGuests } from "./guest-process.ts";
import { packagePage } from "./package-page.ts";
import type { WasmRuntime } from "./runtime.ts";

const run = promisify(execFile);
/** Where sessions see them. */
export const DEPENDENCIES_AT = "/opt/sandbar/deps";
const AT_ONCE = 2;
const LOOK_MS = 1000;
/** A folder that was asked for so recently may be about to be mounted. */
const RECENT_MS = 10 * 60_000;
const SAFE_TENANT = /^[a-z0-9][a-z0-9_-]{0,62}$/;
/** On the host nothing but versions: no addresses, no options. */
const SAFE_REQUIREMENT = /^[\w.[\]-]+(\s*(===?|[<>!~]=|[<>])\s*[\w.*+!-]+(\s*,|$))*$/;
const ONLY =
  "in WebAssembly only pure wheels, wheels for Pyodide, and the distribution that SANDBAR_PYODIDE_INDEX names can be installed";

export class Packages {
  readonly #config: Config;
  readonly #runtime: WasmRuntime;
  readonly #log: Log;
  readonly #root: string;
  readonly #turns = new Turns(AT_ONCE);
  /** Sessions that want the same wait for one installation. */
  readonly #installing = new Map<string, Promise<void>>();

  private constructor(config: Config, runtime: WasmRuntime, log: Log) {
    this.#config = config;
    this.#runtime = runtime;
    this.#log = log;
    this.#root = path.join(config.home, "wasm", "deps");
  }

  /** Null where this machine has no pip. */
  static async open(config: Config, runtime: WasmRuntime, log: Log): Promise<Packages | null> {
    try {
      await run("python3", ["-m", "pip", "--version"], { timeout: 30_000 });
    } catch {
      log.info("no `python3 -m pip` here: sessions in WebAssembly take no dependencies");
      return null;
    }
    return new Packages(config, runtime, log);
  }

  /** Removes what an earlier daemon left half done. */
  async start(): Promise<void> {
    for (const { folder } of await this.#entries())
      if (folder.endsWith(".part")) await rm(folder, { recursive: true, force: true });
  }

  /** The folder of the packages; ends with the signal, even while an installation that others may want goes on. */
  async provide(tenant: string, { dependencies }: SessionSpec, signal?: AbortSignal): Promise<string> {
    if (!SAFE_TENANT.test(tenant)) throw new SandbarError("DEPENDENCY_FAILED", "the tenant has no folder");
    requireNames("python", dependencies);
    const wanted = pythonRequirements(dependencies).sort();
    for (const one of wanted)
      if (!SAFE_REQUIREMENT.test(one))
        throw new SandbarError("DEPENDENCY_FAILED", `${one}: not a version as pip knows it`);
    const page = this.#config.pyodideIndex
      ? await packagePage(this.#config.pyodideIndex, path.join(this.#root, ".index", "page.html"))
      : null;
    const parts = [this.#runtime.lockInfo, wanted, page && readFileSync(page, "utf8")];
    const key = createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 32);
    const folder = path.join(this.#root, tenant, key);
    if (!(await stat(folder).catch(() => null))) {
      let installing = this.#installing.get(folder);
      if (!installing) {
        installing = this.#turns
          .take(() => this.#install(folder, dependencies, wanted, page))
          .finally(() => this.#installing.delete(folder));
        this.#installing.set(folder, installing);
      }
      await unlessAborted(installing, signal).finally(() => {
        void this.trim().catch((error) => this.#log.warn({ err: error }, "could not trim the packages"));
      });
    }
    const now = new Date();
    await utimes(folder, now, now);
    return folder;
  }

  async #install(
    folder: string,
    dependencies: SessionSpec["dependencies"],
    wanted: readonly string[],
    page: string | null,
  ): Promise<void> {
    const part = `${folder}-${randomBytes(4).toString("hex")}.part`;
    const stop = new AbortController();
    const watch = setInterval(async () => {
      const problem = await this.#tooLarge(part);
      if (problem) stop.abort(problem);
    }, LOOK_MS);
    const late = setTimeout(
      () => stop.abort(`it took longer than ${this.#config.installTimeoutMs / 1000} s`),
      this.#config.installTimeoutMs,
    );
    const began = performance.now();
    try {
      await mkdir(path.join(part, ".tmp"), { recursive: true, mode: 0o755 });
      await run("python3", [this.#script, JSON.stringify(this.#request(part, wanted, page))], {
        signal: stop.signal,
        killSignal: "SIGKILL",
        maxBuffer: 64 * 1024 * 1024,
        cwd: part,
        env: this.#env(part),
      });
      const problem = await this.#tooLarge(part);
      if (problem) throw new SandbarError("DEPENDENCY_FAILED", explainFailure(dependencies, "", problem));
      await rm(path.join(part, ".tmp"), { recursive: true, force: true });
      await rename(part, folder);
      this.#log.info({ ms: Math.round(performance.now() - began) }, "packages for WebAssembly installed");
    } catch (error) {
      if (error instanceof SandbarError) throw error;
      const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
      const stopped = stop.signal.aborted ? String(stop.signal.reason) : null;
      const detail = explainFailure(dependencies, `${stdout}\n${stderr}` || String(error), stopped);
      throw new SandbarError(
        "DEPENDENCY_FAILED",
        /no matching distribution|conflicting dependencies/i.test(detail) ? `${detail}\n${ONLY}` : detail,
      );
    } finally {
      clearInterval(watch);
      clearTimeout(late);
      await rm(part, { recursive: true, force: true });
    }
  }

  get #script(): string {
    return path.join(this.#runtime.programs, "installer/install.py");
  }

  #request(part: string, wanted: readonly string[], page: string | null): object {
    const { python, abi_version } = this.#runtime.lockInfo as { python: string; abi_version: string };
    const short = python.split(".").slice(0, 2);
    const tag = `cp${short.join("")}`;
    const target = ["--python-version", short.join("."), "--implementation", "cp", "--abi", tag];
    return {
      arguments: [
        ...["--no-input", "--disable-pip-version-check", "--cache-dir", path.join(this.#root, ".cache")],
        ...["install", "--progress-bar", "off", "--no-warn-script-location", "--no-compile"],
        ...["--root-user-action", "ignore", "--only-binary", ":all:", "--target", part],
        ...[...target, "--platform", `pyemscripten_${abi_version}_wasm32`],
        ...(page ? ["--find-links", page] : []),
        ...["--", ...wanted],
      ],
      markers: {
        ...{ python_version: short.join("."), python_full_version: python, implementation_version: python },
        ...{ os_name: "posix", sys_platform: "emscripten", platform_system: "Emscripten" },
        ...{ platform_machine: "wasm32", implementation_name: "cpython" },
        platform_python_implementation: "CPython",
      },
      refused: [...SPECIAL_V4, ...SPECIAL_V6],
      never: [...METADATA_V4, ...METADATA_V6],
      allowed: this.#config.egress.allow,
    };
  }

  #env(part: string): Record<string, string> {
    const { caBundle, networkEnv } = this.#config;
    return {
      ...networkEnv,
      ...(caBundle && { PIP_CERT: caBundle }),
      PATH: process.env.PATH ?? "/usr/bin:/bin",
      HOME: process.env.HOME ?? "/",
      TMPDIR: path.join(part, ".tmp"),
      PYTHONDONTWRITEBYTECODE: "1",
    };
  }

  async #tooLarge(folder: string): Promise<string | null> {
    const { depsCacheBytes } = this.#config;
    if ((await folderSize(folder)) <= depsCacheBytes) return null;
    return `it takes more than the ${depsCacheBytes / 1024 / 1024} MB of SANDBAR_DEPS_CACHE_MB`;
  }

  /** The least recently used go first; what a session has, or is about to have, stays. Downloads are the cheapest to lose. */
  async trim(maxBytes = this.#config.depsCacheBytes): Promise<void> {
    const entries = await Promise.all(
      (await this.#entries()).map(async (entry) => ({ ...entry, bytes: await folderSize(entry.folder) })),
    );
    let total = entries.reduce((sum, { bytes }) => sum + bytes, 0);
    const cache = path.join(this.#root, ".cache");
    total += await folderSize(cache);
    if (total <= maxBytes) return;
    if (this.#installing.size === 0) {
      total -= await folderSize(cache);
      await rm(cache, { recursive: true, force: true });
    }
    // The folders that a guest was started with are among its arguments.
    const commands = (await listGuests(this.#config.home)).map(({ pid }) => commandOf(pid)).join("\n");
    const old = entries.filter(
      ({ folder, usedAt }) => Date.now() - usedAt > RECENT_MS && !commands.includes(folder),
    );
    for (const { folder, bytes } of old.sort((a, b) => a.usedAt - b.usedAt)) {
      if (total <= maxBytes) return;
      await rm(folder, { recursive: true, force: true });
      total -= bytes;
      this.#log.info({ folder, bytes }, "removed packages that nobody used lately");
    }
  }

  async #entries(): Promise<{ folder: string; usedAt: number }[]> {
    const found: { folder: string; usedAt: number }[] = [];
    for (const tenant of await readdir(this.#root).catch(() => [])) {
      if (tenant.startsWith(".")) continue;
      for (const name of await readdir(path.join(this.#root, tenant))) {
        const folder = path.join(this.#root, tenant, name);
        found.push({ folder, usedAt: (await stat(folder)).mtimeMs });
      }
    }
    return found;
  }
}

async function unlessAborted(work: Promise<void>, signal?: AbortSignal): Promise<void> {
  const stopped = Promise.withResolvers<never>();
  const onAbort = () => stopped.reject(signal?.reason);
  signal?.addEventListener("abort", onAbort, { once: true });
  await Promise.race([work, stopped.promise]).finally(() => signal?.removeEventListener("abort", onAbort));
}
