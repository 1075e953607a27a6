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
import type { BindFolders } from "../box/bind-folders.ts";
import { boxesFolder, filesFolder, removeBoxFolder } from "../box/box-folders.ts";
import { makeShared, mountInOrder, mountsFrom, mountTmpfs, readOnlySteps } from "../box/mounts.ts";
import type { Config } from "../host/config.ts";
import type { Log } from "../host/log.ts";
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

  static async probe({ home, mountsAreSeen }: Config, log: Log): Promise<LateMounts> {
    const mounts = new LateMounts(true, log);
    try {
      if (!mountsAreSeen) throw new Error("the daemon runs in a container: Docker does not see its mounts");
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

interface Arrival {
  /** The host's. */
  readonly folder: string;
  /** `session` or `data`: below the box's tmpfs, and below the root of the box. */
  readonly place: keyof Mounted;
  readonly readOnly: boolean;
}

/** What the session has and a box of the pool was not made with, or null; `files` is the box's tmpfs. */
export async function mountLate(
  { config, bindFolders }: { config: Config; bindFolders: BindFolders },
  { session, user }: { session: string; user: number },
  spec: SessionSpec,
  files: string,
): Promise<Mounted | null> {
  const arrivals: Arrival[] = [];
  if (spec.storage === "BIND") {
    const folder = await bindFolder(bindFolders, session, user);
    arrivals.push({ folder, place: "session", readOnly: false });
  }
  if (spec.dataset_access === "LOCAL_RO")
    arrivals.push({ folder: datasetsFolder(config), place: "data", readOnly: true });
  if (arrivals.length === 0) return null;
  await arrive(files, arrivals);
  const places = arrivals.map(async ({ folder, place }) => [place, await identity(folder)]);
  return Object.fromEntries(await Promise.all(places));
}

/** Each in two steps: a mount keeps the options that it arrives with, and the ties to where it comes from. */
async function arrive(files: string, arrivals: readonly Arrival[]): Promise<void> {
  const steps: string[][] = [];
  for (const { folder, place, readOnly } of arrivals) {
    const staging = stagingFolder(files, place);
    steps.push(["--rbind", "--make-rprivate", folder, staging]);
    if (readOnly) steps.push(...(await readOnlySteps(folder, staging)));
    steps.push(["--rbind", staging, path.join(files, place)]);
  }
  await mountInOrder(steps);
  // Something may have been mounted at its source in just this moment.
  for (const { place, readOnly } of arrivals)
    for (const mount of readOnly ? await mountsFrom(path.join(files, place)) : [])
      if (!mount.options.includes("ro")) throw new Error(`${mount.path} can be written to`);
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
    const folder = path.join(files, "source");
    for (const made of [folder, path.join(files, "data"), stagingFolder(files, "data")]) await mkdir(made);
    await arrive(files, [{ folder, place: "data", readOnly: true }]);
    const [tmpfs] = await mountsFrom(files);
    if (!tmpfs?.shared) throw new Error("a mount cannot be shared");
  } finally {
    await removeBoxFolder(box);
  }
}
