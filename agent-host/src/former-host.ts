/** @module A host that the operator removed: what goes before its home is a host again. */
import { removeBoxFolders } from "./box/box-folders.ts";
import { removeContainersLeft } from "./containers-left.ts";
import { layVolumesAside } from "./docker/provision/volumes.ts";
import { settleFoldersLeft } from "./folders-left.ts";
import type { Config } from "./host/config.ts";
import { takeLock } from "./host/lock.ts";
import type { Log } from "./host/log.ts";
import { removeJournal } from "./journal/journal.ts";
import { endGuests } from "./wasm/guest-process.ts";

/**
 * Its sessions are lost, and its volumes went with it: a new host must find neither. What is in the volumes is somebody's
 * work, so it is only laid aside; folders of BIND sessions have names that never come again, and stay.
 */
export async function clearFormerHost(config: Config, hostId: string, log: Log): Promise<void> {
  const { home } = config;
  const lock = await takeLock(home, log);
  try {
    await endGuests(home);
    await removeContainersLeft(home, hostId);
    await removeBoxFolders(home);
    await settleFoldersLeft(config, log);
    await layVolumesAside(home, hostId);
    await removeJournal(home);
  } finally {
    lock.release();
  }
}
