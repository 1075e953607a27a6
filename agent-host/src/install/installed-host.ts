/** @module A host that is installed on this machine: its settings, its daemon, and how to ask it. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { IMAGE_NAMES, type ImageName } from "../../setup/images.ts";
import { readIdentity } from "../host/identity.ts";
import type { Places } from "./places.ts";
import { readSettings, settingOf } from "./settings-file.ts";
import { unitIsActive } from "./systemd.ts";

const run = promisify(execFile);
const COMES_UP_MS = 90_000;
/** Looks in a row at which its unit did not run: one that ends at once will not come up. */
const GIVES_UP_AFTER = 3;

export interface InstalledHost {
  readonly home: string;
  readonly identity: ReturnType<typeof readIdentity>;
  readonly url: string | undefined;
}

export function installedHost(places: Places): InstalledHost | null {
  if (!existsSync(places.unit) && !existsSync(places.settings)) return null;
  const settings = readSettings(places.settings);
  const home = settingOf(settings, "SANDBAR_HOME") ?? places.home;
  const identity = readIdentity(home);
  return { home, identity, url: settingOf(settings, "SANDBAR_URL") ?? identity?.url };
}

/** Which images this host was installed with. */
export function runtimesOf(places: Places): readonly ImageName[] {
  const named = settingOf(readSettings(places.settings), RUNTIMES)?.split(",") ?? IMAGE_NAMES;
  return IMAGE_NAMES.filter((name) => named.includes(name));
}

/** Known to the installer alone. */
export const RUNTIMES = "SANDBAR_IMAGES";

export interface DaemonStatus {
  readonly pid: number | null;
  readonly version: string;
  /** Of its last welcome by the control plane. */
  readonly epoch: number | null;
  readonly sessions: readonly { id: string }[];
}

/** Asked of the release that runs: only that one's Node can read the journal. */
export async function daemonStatus({ launcher }: Places): Promise<DaemonStatus | null> {
  if (!existsSync(launcher)) return null;
  const { stdout } = await run(launcher, ["status"]).catch((error: { stdout?: string }) => error);
  try {
    return JSON.parse(stdout ?? "") as DaemonStatus;
  } catch {
    return null;
  }
}

/** Until another daemon than before is welcomed by the control plane; false when none is in time, or it keeps ending. */
export async function comesUp(places: Places, before: DaemonStatus | null): Promise<boolean> {
  let down = 0;
  for (const deadline = Date.now() + COMES_UP_MS; Date.now() < deadline; await sleep(500)) {
    const [now, active] = await Promise.all([daemonStatus(places), unitIsActive()]);
    if (now?.pid && now.pid !== before?.pid && (now.epoch ?? 0) > (before?.epoch ?? 0)) return true;
    down = active ? 0 : down + 1;
    if (down >= GIVES_UP_AFTER) return false;
  }
  return false;
}
