/**
 * Which user of the machine each sandbox is. The kernel counts inotify instances, keys, pending signals and more for each
 * user, whichever container its processes are in: who shares a user with others can take all of it from them.
 *
 * @module
 */
import { randomInt } from "node:crypto";
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { SandbarError } from "@sandbar/shared";
import { boxesFolder } from "../box/box-folders.ts";
import type { Config } from "../host/config.ts";

/** The group of all sandboxes, and their user in images. */
export const SANDBOX_ID = 65532;
const FILE = "user";

export class Users {
  readonly #config: Pick<Config, "home" | "users">;
  #range: Config["users"];
  /** By the folder of whoever is the user, as long as that is there. */
  readonly #known = new Map<string, number>();
  readonly #borrowed = new Set<number>();

  constructor(config: Pick<Config, "home" | "users">) {
    this.#config = config;
    this.#range = config.users;
    const { home } = config;
    for (const place of [boxesFolder(home), tenantsFolder(home)])
      for (const name of existsSync(place) ? readdirSync(place) : []) this.#read(path.join(place, name));
  }

  /** For an engine that has users of its own behind a few numbers. */
  shareOne(): void {
    this.#range = { first: SANDBOX_ID, last: SANDBOX_ID };
  }

  /** A user that no other box is, unless it is the tenant's; the same again for the same box. */
  ofBox(box: string): number {
    return this.#of(path.join(boxesFolder(this.#config.home), box));
  }

  /** Sessions that share volumes must share the user whose files are in them. */
  ofTenant(tenant: string): number {
    return this.#of(path.join(tenantsFolder(this.#config.home), tenant));
  }

  /** The box is the tenant's user, now and after a restart of the daemon. */
  giveTenants(box: string, tenant: string): number {
    const user = this.ofTenant(tenant);
    this.#write(path.join(boxesFolder(this.#config.home), box), user);
    return user;
  }

  /** For something that has ended before anybody else could want to know who it was. */
  async borrow<T>(work: (user: number) => Promise<T>): Promise<T> {
    const user = this.#free();
    this.#borrowed.add(user);
    try {
      return await work(user);
    } finally {
      this.#borrowed.delete(user);
    }
  }

  #of(folder: string): number {
    const known = this.#known.get(folder);
    if (known !== undefined && existsSync(path.join(folder, FILE))) return known;
    return this.#read(folder) ?? this.#write(folder, known ?? this.#free());
  }

  #read(folder: string): number | null {
    const file = path.join(folder, FILE);
    if (!existsSync(file)) return null;
    const text = readFileSync(file, "utf8").trim();
    // Root is nobody's, least of all by a file that a machine without power left empty.
    if (!/^[1-9]\d{0,9}$/.test(text)) return null;
    const user = Number(text);
    this.#known.set(folder, user);
    return user;
  }

  #write(folder: string, user: number): number {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const file = path.join(folder, FILE);
    const descriptor = openSync(`${file}.new`, "w", 0o600);
    try {
      writeFileSync(descriptor, String(user));
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(`${file}.new`, file);
    this.#known.set(folder, user);
    return user;
  }

  #free(): number {
    const { first, last } = this.#range;
    // Somebody wants it so: a Docker that knows few users, or files that belong to one.
    if (first === last) return first;
    const taken = new Set(this.#borrowed);
    for (const [folder, user] of this.#known)
      if (existsSync(folder)) taken.add(user);
      else this.#known.delete(folder);
    const count = last - first + 1;
    if (taken.size >= count)
      throw new SandbarError("NO_HOST_AVAILABLE", `every user of SANDBAR_USERS (${first}-${last}) is taken`);
    // Other daemons of this machine may have the same range.
    let user = first + randomInt(count);
    while (taken.has(user)) user = user === last ? first : user + 1;
    return user;
  }
}

function tenantsFolder(home: string): string {
  return path.join(home, "users");
}
