/** @module WebAssembly as an engine, for machines without Docker: Python in Pyodide, a process of Deno for each context. */
import path from "node:path";
import {
  type Capability,
  type Language,
  lackOf,
  needsOf,
  SandbarError,
  type SessionSpec,
  unsupportedBy,
  VERSION,
} from "@sandbar/shared";
import type { BindFolders } from "../box/bind-folders.ts";
import type { BoxOptions } from "../engine/box.ts";
import type { DeathListener, Engine, FoundSandbox } from "../engine/engine.ts";
import type { Config } from "../host/config.ts";
import type { Log } from "../host/log.ts";
import { Cgroups } from "./cgroups.ts";
import {
  canDropPrivileges,
  findGuest,
  killGuest,
  lastWords,
  listGuests,
  othersReach,
} from "./guest-process.ts";
import { Packages } from "./packages.ts";
import { findRuntime, prepareRuntime, type WasmRuntime } from "./runtime.ts";
import { WasmBox } from "./wasm-box.ts";

const LOOK_MS = 1000;
const LEAST_MEMORY_MB = 256;
const IMAGE = "pyodide";

export class WasmEngine implements Engine {
  readonly name = "wasm";
  readonly capabilities: readonly Capability[];
  readonly lateMounts = false;
  readonly volumes = null;
  readonly #config: Config;
  readonly #runtime: WasmRuntime;
  readonly #ownUsers: boolean;
  readonly #packages: Packages | null;
  readonly #cgroups: Cgroups | null;
  readonly #bindFolders: BindFolders;
  readonly #log: Log;
  #listener: DeathListener | null = null;
  #ready = false;

  private constructor(
    config: Config,
    runtime: WasmRuntime,
    packages: Packages | null,
    cgroups: Cgroups | null,
    bindFolders: BindFolders,
    log: Log,
  ) {
    this.#packages = packages;
    this.#cgroups = cgroups;
    this.#bindFolders = bindFolders;
    this.capabilities = [
      // The daemon's own files there are reached through /proc, so that no link leads it elsewhere.
      ...(process.platform === "linux" ? (["bind"] as const) : []),
      "egress",
      "local_datasets",
      ...(packages ? (["dependencies"] as const) : []),
    ];
    this.#config = config;
    this.#runtime = runtime;
    this.#log = log;
    const { deno, pyodide, programs, package: folder } = runtime;
    const needed = [
      config.home,
      path.dirname(config.sessionsRoot),
      deno,
      pyodide,
      programs,
      folder,
      process.execPath,
    ];
    this.#ownUsers = canDropPrivileges() && needed.every(othersReach);
    if (process.getuid?.() === 0 && !this.#ownUsers)
      log.warn(
        { home: config.home },
        "WebAssembly sessions run as root: other users cannot reach the folders that they need",
      );
  }

  static async open(config: Config, bindFolders: BindFolders, log: Log): Promise<WasmEngine> {
    const runtime = await findRuntime(config);
    const packages = await Packages.open(config, runtime, log);
    return new WasmEngine(config, runtime, packages, await Cgroups.open(config.home), bindFolders, log);
  }

  async start(): Promise<void> {
    await prepareRuntime(this.#runtime, this.#log);
    await this.#packages?.start();
    await this.#cgroups?.sweep();
    this.#ready = true;
  }

  async clearAway(): Promise<void> {}

  async trimCaches(): Promise<void> {
    await this.#packages?.trim(0);
  }

  async runtimes(): Promise<Language[]> {
    return this.#ready ? ["python"] : [];
  }

  imageOf(spec: SessionSpec): string {
    const lacking = lackOf("wasm", needsOf(spec), this.capabilities);
    if (spec.limits.memory_mb < LEAST_MEMORY_MB) lacking.push(`less than ${LEAST_MEMORY_MB} MB of memory`);
    if (lacking.length) throw new SandbarError("UNSUPPORTED_BY_ENGINE", unsupportedBy("wasm", lacking));
    return IMAGE;
  }

  async fingerprint(spec: SessionSpec, key: string): Promise<string | null> {
    return JSON.stringify([VERSION, this.#runtime.digest, key, spec.limits, this.#ownUsers]);
  }

  box(options: BoxOptions): WasmBox {
    return new WasmBox(options, {
      ...{ config: this.#config, runtime: this.#runtime, ownUsers: this.#ownUsers },
      packages: this.#packages,
      cgroups: this.#cgroups,
      bindFolders: this.#bindFolders,
      onExit: (sandbox) => this.#listener?.onDeath(sandbox),
    });
  }

  async list(): Promise<FoundSandbox[]> {
    return listGuests(this.#config.home);
  }

  async deathOf(sandbox: string): Promise<string | null> {
    const guest = await findGuest(this.#config.home, sandbox);
    if (guest?.running) return null;
    const said = guest && (await lastWords(this.#config.home, guest));
    return said ? `the guest's process ended: ${said}` : "the guest's process ended";
  }

  async remove(sandbox: string): Promise<void> {
    const guest = await findGuest(this.#config.home, sandbox);
    if (guest) killGuest(guest);
  }

  /** Of those that an earlier daemon started nobody tells; they are looked at. */
  followDeaths(listener: DeathListener, signal: AbortSignal): void {
    this.#listener = listener;
    const told = new Set<string>();
    const timer = setInterval(async () => {
      for (const { id, running } of await listGuests(this.#config.home)) {
        if (running || told.has(id)) continue;
        told.add(id);
        listener.onDeath(id);
      }
    }, LOOK_MS);
    signal.addEventListener("abort", () => clearInterval(timer), { once: true });
  }
}
