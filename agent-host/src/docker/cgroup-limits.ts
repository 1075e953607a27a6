/**
 * A running container's limits, written where the kernel reads them: under a millisecond, where `docker update` takes tens.
 *
 * @module
 */
import { access, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import type { Limits } from "@sandbar/shared";
import { CGROUP_ROOT, cgroupPlaces, controllerFolder } from "./cgroup-places.ts";

const PERIOD_US = 100_000;

/** False where the cgroup is not found or may not be written; nothing is promised then. */
export async function writeCgroupLimits(
  container: string,
  limits: Limits,
  processes: boolean,
): Promise<boolean> {
  try {
    for (const place of cgroupPlaces(container)) {
      if (await exists(path.join(CGROUP_ROOT, place, "memory.max"))) {
        await writeUnified(path.join(CGROUP_ROOT, place), limits, processes);
        return true;
      }
      const memory = path.join(CGROUP_ROOT, "memory", place);
      if (await exists(memory)) {
        await writeSplit(place, memory, limits, processes);
        return true;
      }
    }
    return false;
  } catch {
    return false;
  }
}

async function writeUnified(folder: string, limits: Limits, processes: boolean): Promise<void> {
  await writeFile(path.join(folder, "memory.swap.max"), "0").catch(() => {});
  await writeFile(path.join(folder, "memory.max"), bytes(limits));
  await writeFile(path.join(folder, "cpu.max"), `${quota(limits)} ${PERIOD_US}`);
  if (processes) await writeFile(path.join(folder, "pids.max"), String(limits.pids));
}

async function writeSplit(place: string, memory: string, limits: Limits, processes: boolean): Promise<void> {
  const limit = path.join(memory, "memory.limit_in_bytes");
  const withSwap = path.join(memory, "memory.memsw.limit_in_bytes");
  const grows = Number(await readFile(limit, "utf8")) < Number(bytes(limits));
  // Memory with swap may never be the smaller of the two, on the way either.
  const files = (await exists(withSwap)) ? [limit, withSwap] : [limit];
  for (const file of grows ? files.toReversed() : files) await writeFile(file, bytes(limits));
  await writeFile(path.join(controllerFolder("cpu"), place, "cpu.cfs_period_us"), String(PERIOD_US));
  await writeFile(path.join(controllerFolder("cpu"), place, "cpu.cfs_quota_us"), String(quota(limits)));
  if (processes) await writeFile(path.join(controllerFolder("pids"), place, "pids.max"), String(limits.pids));
}

const bytes = (limits: Limits) => String(limits.memory_mb * 1024 * 1024);
const quota = (limits: Limits) => Math.round(limits.cpus * PERIOD_US);

const exists = (file: string) =>
  access(file).then(
    () => true,
    () => false,
  );
