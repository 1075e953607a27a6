/** @module How busy this host is: its machine, and its warm pool. */
import { statfs } from "node:fs/promises";
import { freemem, loadavg, totalmem } from "node:os";
import type { CallHandlers, HostLoad, MethodsOf } from "@sandbar/shared";

export const hostLoadCalls = (
  home: string,
  pool: () => HostLoad["pool"],
): CallHandlers<MethodsOf<"host">, []> => ({
  "host.load": async () => {
    const disk = await statfs(home);
    return {
      load_average: loadavg() as HostLoad["load_average"],
      memory_bytes: totalmem(),
      // On Linux what could be had without swapping, caches included.
      memory_available_bytes: freemem(),
      disk_bytes: disk.blocks * disk.bsize,
      disk_available_bytes: disk.bavail * disk.bsize,
      pool: pool(),
    };
  },
});
