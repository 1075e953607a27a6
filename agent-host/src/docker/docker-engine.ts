/** @module Docker as an engine: a container for each box. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Language, SessionSpec } from "@sandbar/shared";
import type { BoxOptions } from "../engine/box.ts";
import type { DeathListener, Engine, FoundSandbox } from "../engine/engine.ts";
import type { Config } from "../host/config.ts";
import type { Log } from "../host/log.ts";
import { backoffMs } from "../io/backoff.ts";
import { Containers } from "./containers.ts";
import { DockerBox } from "./docker-box.ts";
import { followDockerEvents } from "./docker-events.ts";
import { removeEgress } from "./egress.ts";
import { fingerprint } from "./fingerprint.ts";
import { LateMounts } from "./late-mounts.ts";
import { Preparation } from "./provision/preparation.ts";
import type { Volumes } from "./provision/volumes.ts";
import { copyRuntime, removeOldRuntimes } from "./runtime-copy.ts";

export class DockerEngine implements Engine {
  readonly #config: Config;
  readonly #hostId: string;
  readonly #containers: Containers;
  readonly #preparation: Preparation;
  readonly #lateMounts: LateMounts;
  readonly #log: Log;

  private constructor(config: Config, hostId: string, lateMounts: LateMounts, log: Log) {
    this.#config = config;
    this.#hostId = hostId;
    this.#containers = new Containers(config, hostId, log);
    this.#preparation = new Preparation(config, this.#containers, log);
    this.#lateMounts = lateMounts;
    this.#log = log;
  }

  static async open(given: Config, hostId: string, log: Log): Promise<DockerEngine> {
    const config = { ...given, runtimeDir: await copyRuntime(given, log) };
    return new DockerEngine(config, hostId, await LateMounts.probe(config, log), log);
  }

  get lateMounts(): boolean {
    return this.#lateMounts.possible;
  }

  get volumes(): Volumes {
    return this.#preparation.volumes;
  }

  async start(): Promise<void> {
    await this.#untilDockerAnswers();
    await this.#preparation.start();
    await this.#containers.egress
      .restore()
      .catch((error) => this.#log.error({ err: error }, "the egress network's filter could not be restored"));
    await removeOldRuntimes(this.#config, await this.#containers.mountedFolders()).catch((error) =>
      this.#log.warn({ err: error }, "an old copy of guest and kernels stays"),
    );
  }

  async clearAway(): Promise<void> {
    await removeEgress(this.#containers.docker, this.#hostId).catch((error) =>
      this.#log.warn({ err: error }, "the egress network stays"),
    );
    await this.volumes
      .unmountAll()
      .catch((error) => this.#log.warn({ err: error }, "a volume stays mounted"));
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

  async #untilDockerAnswers(): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      try {
        await this.#containers.list();
        return;
      } catch (error) {
        this.#log.warn({ err: error }, "waiting for Docker");
        await sleep(backoffMs(attempt));
      }
    }
  }
}
