/**
 * Mounts that reach a box which runs already, so that a warm one can become any session. The box's tmpfs is shared, and the
 * box has its /session and /data as slaves of it: what the host mounts over those folders appears inside, and nothing that
 * happens inside comes out. They stay until the box is removed.
 *
 * @module
 */
import { mkdir, stat } from "node:fs/promises";
import path from "node:path";
import type { SessionSpec } from "@sandbar/shared";
import { boxesFolder, filesFolder, removeBoxFolder } from "./box-folders.ts";
import type { Config } from "./config.ts";
import type { Log } from "./log.ts";
import { bind, bindPrivately, makeShared, makeTreeReadOnly, mountsFrom, mountTmpfs } from "./mounts.ts";
import { bindFolder, datasetsFolder, stagingFolder } from "./storage.ts";

/** Which folder of the host is where in the box: `device:inode`. */
export interface Mounted {
  readonly session?: string;
  readonly data?: string;
}

/** Whether this host can mount into running boxes: found out once, at the start. */
export class LateMounts {
  readonly #log: Log;
  #possible: boolean;

  private constructor(possible: boolean, log: Log) {
    this.#possible = possible;
    this.#log = log;
  }

  static async probe({ home }: Config, log: Log): Promise<LateMounts> {
    const mounts = new LateMounts(true, log);
    try {
      // Among the boxes, where the sweep removes whatever a crash leaves of it.
      await tryOut(path.join(boxesFolder(home), "probe"));
    } catch (error) {
      mounts.giveUp((error as Error).message);
    }
    return mounts;
  }

  get possible(): boolean {
    return this.#possible;
  }

  giveUp(reason: string): void {
    if (!this.#possible) return;
    this.#possible = false;
    this.#log.warn(
      { reason },
      "cannot mount into running boxes; BIND and LOCAL_RO sessions are made from nothing",
    );
  }

  /** Docker may see other mounts than the daemon, as when one of them runs in a container. */
  onFailedStart({ message }: Error): void {
    if (/not a shared or slave mount/.test(message)) this.giveUp(message);
  }

  /** A daemon and a Docker that do not see the same mounts would leave a session in the wrong folder. */
  check(mounted: Mounted, found: unknown): void {
    for (const [place, wanted] of Object.entries(mounted)) {
      if ((found as Record<string, unknown> | null)?.[place] === wanted) continue;
      const reason = `what was mounted as /${place} did not arrive in the box`;
      this.giveUp(reason);
      throw new Error(reason);
    }
  }
}

/** What the session has and a box of the pool was not made with, or null; `files` is the box's tmpfs. */
export async function mountLate(
  config: Config,
  session: string,
  spec: SessionSpec,
  files: string,
): Promise<Mounted | null> {
  if (spec.storage === "TMPFS" && spec.dataset_access !== "LOCAL_RO") return null;
  const [own, data] = await Promise.all([
    spec.storage === "BIND" ? mountSession(config, session, files) : undefined,
    spec.dataset_access === "LOCAL_RO" ? mountDatasets(config, files) : undefined,
  ]);
  return { ...(own && { session: own }), ...(data && { data }) };
}

async function mountSession(config: Config, session: string, files: string): Promise<string> {
  const folder = await bindFolder(config.sessionsRoot, session);
  await arrive(folder, files, "session", async () => {});
  return identity(folder);
}

async function mountDatasets(config: Config, files: string): Promise<string> {
  const folder = datasetsFolder(config);
  await arrive(folder, files, "data", makeTreeReadOnly);
  return identity(folder);
}

/** In two steps: a mount keeps the options that it arrived with, and with them the ties to where it came from. */
async function arrive(
  folder: string,
  files: string,
  place: string,
  change: (staging: string) => Promise<void>,
): Promise<void> {
  const staging = stagingFolder(files, place);
  await bindPrivately(folder, staging);
  await change(staging);
  await bind(staging, path.join(files, place));
}

async function identity(folder: string): Promise<string> {
  const { dev, ino } = await stat(folder, { bigint: true });
  return `${dev}:${ino}`;
}

async function tryOut(box: string): Promise<void> {
  await removeBoxFolder(box);
  const files = filesFolder(box);
  try {
    await mkdir(files, { recursive: true, mode: 0o700 });
    await mountTmpfs(files, 1);
    await makeShared(files);
    const source = path.join(files, "source");
    for (const folder of [source, path.join(files, "data"), stagingFolder(files, "data")])
      await mkdir(folder);
    await arrive(source, files, "data", makeTreeReadOnly);
    const made = new Map((await mountsFrom(files)).map((mount) => [mount.path, mount]));
    if (!made.get(files)?.shared || !made.get(path.join(files, "data"))?.options.includes("ro"))
      throw new Error("mounts do not take their options");
  } finally {
    await removeBoxFolder(box);
  }
}
