/** @module What goes wrong: one fault after another, each healed before the next, until it is told to stop. */
import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Fleet } from "../load/fleet.ts";

export type Fault =
  | "kill a daemon"
  | "kill workerd"
  | "cut a link"
  | "fill a daemon's disk"
  | "fill the control plane's disk";

export interface Disks {
  /** Mounts of their own, which may be filled without harm to this machine. */
  readonly daemons: readonly string[];
  readonly plane: string;
}

const PAUSE_MS = [1_000, 4_000] as const;
const FULL_MS = [2_000, 5_000] as const;
const CUT_MS = [1_000, 20_000] as const;

/** How often each was done. */
export async function faults(
  fleet: Fleet,
  disks: Disks,
  random: () => number,
  done: () => boolean,
  say: (line: string) => void,
): Promise<Map<Fault, number>> {
  const counts = new Map<Fault, number>();
  const between = ([from, to]: readonly [number, number]) => from + random() * (to - from);
  const one = () => Math.floor(random() * fleet.daemons.length);
  const acts: Record<Fault, () => Promise<void>> = {
    "kill a daemon": async () => fleet.daemons[one()]!.kill(),
    "kill workerd": () => fleet.killControlPlane(),
    "cut a link": async () => {
      const { relay } = fleet.daemons[one()]!;
      relay.cut();
      await sleep(between(CUT_MS));
      relay.mend();
    },
    "fill a daemon's disk": () => full(disks.daemons[one()]!, between(FULL_MS)),
    "fill the control plane's disk": () => full(disks.plane, between(FULL_MS)),
  };
  const names = Object.keys(acts) as Fault[];
  // Each at least once, in an order that changes.
  while (!done())
    for (const name of names.toSorted(() => random() - 0.5)) {
      if (done()) break;
      say(`fault: ${name}`);
      await acts[name]();
      counts.set(name, (counts.get(name) ?? 0) + 1);
      await sleep(between(PAUSE_MS));
    }
  return counts;
}

async function full(mount: string, ms: number): Promise<void> {
  const file = join(mount, "filler");
  try {
    // Until it says that there is no room.
    execFileSync("dd", ["if=/dev/zero", `of=${file}`, "bs=1M"], { stdio: "ignore" });
  } catch {
    try {
      writeFileSync(`${file}2`, Buffer.alloc(1024 * 1024));
    } catch {
      // That was the last of it.
    }
  }
  await sleep(ms);
  rmSync(file, { force: true });
  rmSync(`${file}2`, { force: true });
}
