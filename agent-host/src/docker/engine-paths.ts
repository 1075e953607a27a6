/** @module Where the engine finds a folder of the daemon, and the other way round. Decided here, without I/O. */
import { SandbarError } from "@sandbar/shared";
import type { OwnContainer, OwnMount } from "./own-container.ts";

export class EnginePaths {
  /** The innermost first; null where both have the same paths. */
  readonly #mounts: readonly OwnMount[] | null;

  constructor(own: Pick<OwnContainer, "mounts"> | null) {
    const inward = (a: OwnMount, b: OwnMount) => b.destination.length - a.destination.length;
    this.#mounts = own?.mounts.toSorted(inward) ?? null;
  }

  /** Throws what the operator should read when the engine cannot see it. */
  ofEngine(path: string): string {
    const lacking = this.lacking(path);
    if (lacking) throw new SandbarError("SESSION_START_FAILED", lacking);
    return this.#mounts ? moved(path, this.#mounts, "destination", "source")! : path;
  }

  /** Why the engine cannot see it, if so. */
  lacking(path: string): string | null {
    if (!this.#mounts || moved(path, this.#mounts, "destination", "source") !== null) return null;
    return `agent-host runs in a container, where ${path} is its own: mount a volume or a folder of the machine there`;
  }

  /** What the daemon does not see it knows by the engine's name. */
  ofDaemon(path: string): string {
    return (this.#mounts && moved(path, this.#mounts, "source", "destination")) ?? path;
  }

  /** Docker's bind strings. */
  binds(binds: readonly string[]): string[] {
    return binds.map((bind) => {
      const [source = "", ...rest] = bind.split(":");
      return [this.ofEngine(source), ...rest].join(":");
    });
  }
}

function moved(
  path: string,
  mounts: readonly OwnMount[],
  from: keyof OwnMount,
  to: keyof OwnMount,
): string | null {
  for (const mount of mounts)
    if (path === mount[from] || path.startsWith(`${mount[from]}/`))
      return mount[to] + path.slice(mount[from].length);
  return null;
}
