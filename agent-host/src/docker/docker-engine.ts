/** @module Docker as an engine: a container for each box. */
import { setTimeout as sleep } from "node:timers/promises";
import { type Capability, ENGINES, type Isolation, type Language, type SessionSpec } from "@sandbar/shared";
import Docker from "dockerode";
import { engineElsewhere } from "../../setup/docker-engine.ts";
import { engineRefusal } from "../../setup/engine-refusal.ts";
import type { BindFolders } from "../box/bind-folders.ts";
import type { BoxOptions } from "../engine/box.ts";
import type { DeathListener, Engine, FoundSandbox } from "../engine/engine.ts";
import { type Config, ConfigError } from "../host/config.ts";
import type { Log } from "../host/log.ts";
import { backoffMs } from "../io/backoff.ts";
import { Containers } from "./containers.ts";
import { DockerBox } from "./docker-box.ts";
import { followDockerEvents } from "./docker-events.ts";
import { checkEngine } from "./engine-check.ts";
import { EnginePaths } from "./engine-paths.ts";
import { fingerprint } from "./fingerprint.ts";
import { type FoundEngine, findEngine } from "./found-engine.ts";
import { isolationOf, seesLateMounts } from "./isolation.ts";
import { LateMounts } from "./late-mounts.ts";
import { inPodman } from "./podman.ts";
import { Preparation } from "./provision/preparation.ts";
import type { Volumes } from "./provision/volumes.ts";
import { copyRuntime, removeOldRuntimes } from "./runtime-copy.ts";
import { Users } from "./users.ts";

export class DockerEngine implements Engine {
  readonly name = "container";
  readonly capabilities: readonly Capability[];
  readonly isolation: Isolation;
  readonly #config: Config;
  readonly #hostId: string;
  readonly #containers: Containers;
  readonly #preparation: Preparation;
  readonly #lateMounts: LateMounts;
  readonly #bindFolders: BindFolders;
  readonly #users: Users;
  readonly #log: Log;

  private constructor(
    config: Config,
    hostId: string,
    found: FoundEngine,
    bindFolders: BindFolders,
    lateMounts: LateMounts,
    log: Log,
  ) {
    this.#bindFolders = bindFolders;
    this.#config = config;
    this.#hostId = hostId;
    const { capabilities } = ENGINES.container;
    this.capabilities = found.podman ? inPodman(capabilities) : capabilities;
    this.isolation = isolationOf(config.runtime);
    this.#users = new Users(config);
    // It writes containers' /etc/passwd itself.
    if (found.podman) this.#users.shareOne();
    this.#containers = new Containers(config, hostId, found, this.#users, log);
    this.#preparation = new Preparation(config, this.#containers, this.#users, log);
    this.#lateMounts = lateMounts;
    this.#log = log;
  }

  static async open(
    given: Config,
    hostId: string,
    bindFolders: BindFolders,
    log: Log,
  ): Promise<DockerEngine> {
    const docker = new Docker();
    const refusal = engineElsewhere() ?? (await whenDockerAnswers(() => engineRefusal(docker), log));
    if (refusal) throw new ConfigError(refusal);
    const found = await whenDockerAnswers(() => findEngine(docker), log);
    const { own } = found;
    if (own) {
      const paths = new EnginePaths(own);
      // Better said now than by every session.
      const lacking = paths.lacking(given.home);
      if (lacking) throw new ConfigError(`SANDBAR_HOME: ${lacking}`);
      const home = paths.ofEngine(given.home);
      log.info({ container: own.id, home }, "runs in a container beside those that it makes");
      bindFolders.leavePlain();
    }
    const config = { ...given, runtimeDir: await copyRuntime(given, log), mountsAreSeen: own === null };
    const lateMounts = await LateMounts.probe(config, log);
    if (!seesLateMounts(isolationOf(config.runtime)))
      lateMounts.giveUp(`${config.runtime} does not show them to a container that runs`);
    return new DockerEngine(config, hostId, found, bindFolders, lateMounts, log);
  }

  get lateMounts(): boolean {
    return this.#lateMounts.possible;
  }

  get volumes(): Volumes {
    return this.#preparation.volumes;
  }

  async start(): Promise<void> {
    await whenDockerAnswers(() => this.#containers.list(), this.#log);
    await this.#check();
    await this.#preparation.start();
    await this.#containers.egress
      .restore()
      .catch((error) => this.#log.error({ err: error }, "the egress network's filter could not be restored"));
    await removeOldRuntimes(this.#config, await this.#containers.mountedFolders()).catch((error) =>
      this.#log.warn({ err: error }, "an old copy of guest and kernels stays"),
    );
  }

  async clearAway(): Promise<void> {
    await this.#containers.egress
      .remove()
      .catch((error) => this.#log.warn({ err: error }, "the egress network stays"));
    await this.volumes
      .unmountAll()
      .catch((error) => this.#log.warn({ err: error }, "a volume stays mounted"));
  }

  trimCaches(): Promise<void> {
    return this.#preparation.trimCaches();
  }

  /** Those whose images are there. */
  async runtimes(): Promise<Language[]> {
    const images = Object.entries(this.#config.images) as [Language, string][];
    const present = new Map<string, boolean>();
    for (const [, image] of images)
      if (!present.has(image)) present.set(image, await this.#containers.hasImage(image));
    return images.filter(([, image]) => present.get(image)).map(([runtime]) => runtime);
  }

  imageOf(spec: SessionSpec): string {
    return this.#containers.imageOf(spec);
  }

  fingerprint(spec: SessionSpec, key: string): Promise<string | null> {
    return fingerprint(this.#config, this.#containers, spec, key, this.lateMounts);
  }

  box(options: BoxOptions): DockerBox {
    return new DockerBox(options, {
      config: this.#config,
      containers: this.#containers,
      preparation: this.#preparation,
      lateMounts: this.#lateMounts,
      bindFolders: this.#bindFolders,
      users: this.#users,
    });
  }

  list(): Promise<FoundSandbox[]> {
    return this.#containers.list();
  }

  deathOf(container: string): Promise<string | null> {
    return this.#containers.deathOf(container);
  }

  remove(container: string): Promise<void> {
    return this.#containers.remove(container);
  }

  followDeaths(listener: DeathListener, signal: AbortSignal): void {
    const { docker } = this.#containers;
    void followDockerEvents({ docker, hostId: this.#hostId, signal, log: this.#log, listener });
  }

  async #check(): Promise<void> {
    const { warnings, remapped, runtimes } = await checkEngine(this.#containers.docker);
    const { runtime } = this.#config;
    if (runtime !== undefined && !runtimes.includes(runtime))
      throw new ConfigError(
        `SANDBAR_OCI_RUNTIME: Docker here has no runtime ${runtime}, only ${runtimes.join(", ")}`,
      );
    for (const warning of warnings) this.#log.warn(warning);
    if (remapped) {
      this.#log.warn("Docker maps users itself: all sandboxes of this host are one of them");
      this.#users.shareOne();
    }
  }
}

async function whenDockerAnswers<T>(ask: () => Promise<T>, log: Log): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await ask();
    } catch (error) {
      log.warn({ err: error }, "waiting for Docker");
      await sleep(backoffMs(attempt));
    }
  }
}
