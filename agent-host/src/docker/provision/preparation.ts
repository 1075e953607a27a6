/** @module What a session needs before its box can be made: an image that fits, packages, volumes. */

import type { SessionSpec } from "@sandbar/shared";
import type { Config } from "../../host/config.ts";
import type { Log } from "../../host/log.ts";
import type { Extras } from "../container-options.ts";
import type { Containers } from "../containers.ts";
import type { Users } from "../users.ts";
import { CustomImages } from "./custom-images.ts";
import { Dependencies } from "./dependencies.ts";
import { Volumes } from "./volumes.ts";

/** An installer may say hundreds of lines a second, and each one is written down at the other end. */
const QUIET_MS = 250;

type Step = (step: string, detail: string) => void;

export class Preparation {
  readonly #images: CustomImages;
  readonly #dependencies: Dependencies;
  readonly volumes: Volumes;

  constructor(config: Config, containers: Containers, users: Users, log: Log) {
    this.#images = new CustomImages(config, containers, log);
    this.#dependencies = new Dependencies(config, containers, users, log);
    this.volumes = new Volumes(config, containers, users, log);
  }

  start(): Promise<void> {
    return this.#dependencies.start();
  }

  trimCaches(): Promise<void> {
    return this.#dependencies.trim(0);
  }

  /** Ends with the signal, even while an installation that others may want goes on. */
  async prepare(
    tenant: string,
    spec: SessionSpec,
    image: string,
    step: Step,
    signal?: AbortSignal,
  ): Promise<Extras> {
    const stopped = Promise.withResolvers<never>();
    const onAbort = () => stopped.reject(signal?.reason);
    signal?.addEventListener("abort", onAbort, { once: true });
    stopped.promise.catch(() => {});
    const tell = calmly(step);
    try {
      return await Promise.race([this.#prepare(tenant, spec, image, tell), stopped.promise]);
    } finally {
      signal?.removeEventListener("abort", onAbort);
    }
  }

  async #prepare(tenant: string, spec: SessionSpec, image: string, step: Step): Promise<Extras> {
    if (spec.image !== null) await this.#images.prepare(image, spec, step);
    const installed = Object.keys(spec.dependencies).length
      ? await this.#dependencies.provide({ tenant, image, spec }, (detail) => step("dependencies", detail))
      : { binds: [], env: [] };
    const volumes = spec.volumes.length ? await this.volumes.provide(tenant, spec) : [];
    return { binds: [...installed.binds, ...volumes], env: installed.env };
  }
}

/** Lets a step through at once and lines of the same step only now and then. */
function calmly(step: Step): Step {
  let last = { step: "", at: 0 };
  return (name, detail) => {
    const now = performance.now();
    if (name === last.step && now - last.at < QUIET_MS) return;
    last = { step: name, at: now };
    step(name, detail);
  };
}
