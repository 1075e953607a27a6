/** @module The session's folders: where they are on the host, and what they may hold where nobody else bounds them. */
import { lstatSync, opendirSync, readdirSync, realpathSync, statfsSync, statSync } from "node:fs";
import path from "node:path";
import type { Mount } from "../kernel/wire.ts";
import { CallError } from "./call-error.ts";

const LOOKS = 200_000;
const PATH_BYTES = 4095;
const MEGABYTE = 1024 * 1024;
const BLOCK = 4096;
const OVERRUN_BYTES = 64 * MEGABYTE;

/** A path as callers know it, and where that is. */
export interface Place {
  readonly shown: string;
  readonly real: string;
  readonly readOnly: boolean;
  /** It is one of the folders that everything else is in. */
  readonly isRoot: boolean;
}

export class Storage {
  readonly #mounts: readonly Mount[];
  readonly #limit: number | null;
  readonly #kernels: () => Iterable<number>;
  readonly #devices: { root: string; actual: string }[];

  /** `kernels`: the numbers of their processes, which may have files open that have no name. */
  constructor(mounts: readonly Mount[], storageMb: number | null, kernels: () => Iterable<number>) {
    this.#mounts = mounts;
    this.#kernels = kernels;
    this.#limit = storageMb === null ? null : storageMb * MEGABYTE;
    this.#devices = mounts.map(({ root }) => ({ root, actual: realpathSync(root) }));
  }

  get bounded(): boolean {
    return this.#limit === null;
  }

  /** `path` or `path_b64`; relative ones start at /session. There are no links, so `..` means what it says. */
  place(params: Record<string, unknown>, key = "path"): Place {
    const given = textOf(params, key);
    if (!given || given.includes("\0"))
      throw new CallError("PATH_INVALID", "the path is empty or contains NUL");
    if (Buffer.byteLength(given) > PATH_BYTES)
      throw new CallError("PATH_INVALID", `the path is longer than ${PATH_BYTES} bytes`);
    if (!given.startsWith("/") && climbsOut(given))
      throw new CallError("PATH_INVALID", "'..' leads out of the session's folder; give an absolute path");
    const shown = path.posix.resolve("/session", given);
    const mount = this.#mounts.find(({ at }) => shown === at || shown.startsWith(`${at}/`));
    if (!mount) {
      const all = this.#mounts.map(({ at }) => at).join(", ");
      throw new CallError("PATH_NOT_PERMITTED", `only what is in ${all} can be reached from outside`);
    }
    const real = mount.root + shown.slice(mount.at.length);
    this.#stayInside(mount.root, real);
    return { shown, real, readOnly: mount.readOnly, isRoot: shown === mount.at };
  }

  /** Of something that is to be made, changed or taken away. */
  placeToChange(params: Record<string, unknown>, key = "path"): Place {
    const given = textOf(params, key);
    if (/(^|\/)(\.|\.\.|)$/.test(given)) throw new CallError("PATH_INVALID", "the path must end with a name");
    const place = this.place(params, key);
    if (Buffer.byteLength(path.posix.basename(place.shown)) > 255)
      throw new CallError("PATH_INVALID", "the name is longer than 255 bytes");
    if (place.readOnly) throw new CallError("PATH_NOT_PERMITTED", "this folder can only be read");
    if (place.isRoot) throw new CallError("PATH_INVALID", "this is the session itself");
    return place;
  }

  /** A link in a folder of the operator's must not lead out of it. */
  #stayInside(root: string, real: string): void {
    const actual = this.#devices.find((device) => device.root === root)!.actual;
    let at = real;
    for (;;) {
      try {
        const found = realpathSync(at);
        if (found === actual || found.startsWith(`${actual}/`)) return;
        throw new CallError("PATH_NOT_PERMITTED", "a link leads out of the folder");
      } catch (error) {
        if (error instanceof CallError) throw error;
        if (at === root || at.length <= root.length) return;
        at = path.dirname(at);
      }
    }
  }

  /** Throws when so much more does not fit. */
  mustHaveRoom(folder: string, bytes: number): void {
    const free = this.#limit === null ? freeOn(folder) : this.room()!;
    if (bytes > free) throw new CallError("STORAGE_FULL", `${bytes} bytes do not fit; ${free} are free`);
  }

  /** Bytes that may still come; null where the file system itself knows. */
  room(): number | null {
    return this.#limit === null ? null : Math.max(0, this.#limit - this.used());
  }

  used(): number {
    let total = unlinkedBytes(this.#kernels());
    let looks = LOOKS;
    const waiting = this.#mounts.filter(({ counted }) => counted).map(({ root }) => root);
    while (waiting.length && looks > 0) {
      const folder = waiting.pop()!;
      try {
        const found = opendirSync(folder);
        try {
          for (let entry = found.readSync(); entry && looks-- > 0; entry = found.readSync()) {
            const file = `${folder}/${entry.name}`;
            if (entry.isDirectory()) waiting.push(file);
            // The names take something, too.
            total += entry.isDirectory() ? BLOCK : Math.max(BLOCK, lstatSync(file).blocks * 512);
          }
        } finally {
          found.closeSync();
        }
      } catch {}
    }
    return looks > 0 ? total : Number.POSITIVE_INFINITY;
  }

  /** So much more than the session may have that kernels cannot have kept their own count. */
  get overrun(): boolean {
    return this.#limit !== null && this.used() > this.#limit * 2 + OVERRUN_BYTES;
  }
}

/** Of files that have no name any more, and are open. */
function unlinkedBytes(pids: Iterable<number>): number {
  let total = 0;
  for (const pid of pids)
    try {
      for (const number of readdirSync(`/proc/${pid}/fd`)) {
        const found = statSync(`/proc/${pid}/fd/${number}`, { throwIfNoEntry: false });
        if (found?.isFile() && found.nlink === 0) total += found.blocks * 512;
      }
    } catch {}
  return total;
}

function freeOn(folder: string): number {
  let at = folder;
  for (;;) {
    try {
      const { bavail, bsize } = statfsSync(at);
      return bavail * bsize;
    } catch {
      if (at === "/") return 0;
      at = path.dirname(at);
    }
  }
}

function textOf(params: Record<string, unknown>, key: string): string {
  const encoded = params[`${key}_b64`];
  if (typeof encoded === "string") {
    try {
      return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(encoded, "base64"));
    } catch {
      throw new CallError("PATH_INVALID", "names in WebAssembly are Unicode text");
    }
  }
  const given = params[key];
  if (typeof given !== "string") throw new CallError("PATH_INVALID", `${key} is missing`);
  return given;
}

/** As it is written. */
function climbsOut(given: string): boolean {
  let depth = 0;
  for (const part of given.split("/")) {
    if (part === "..") depth--;
    else if (part !== "" && part !== ".") depth++;
    if (depth < 0) return true;
  }
  return false;
}
