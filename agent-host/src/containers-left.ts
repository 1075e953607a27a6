/** @module Containers of a host that goes, on a machine that may have no Docker any more, or never had. */
import { readdir } from "node:fs/promises";
import Docker from "dockerode";
import { boxesFolder } from "./box/box-folders.ts";
import { removeContainersAndNetwork } from "./docker/host-traces.ts";
import { listGuests } from "./wasm/guest-process.ts";

/** How many were removed. Fails when Docker does not answer and there may be some; so call it before the boxes go. */
export async function removeContainersLeft(home: string, hostId: string): Promise<number> {
  try {
    return await removeContainersAndNetwork(new Docker(), hostId);
  } catch (error) {
    const boxes = await readdir(boxesFolder(home)).catch(() => []);
    if (boxes.length > (await listGuests(home)).length) throw error;
    return 0;
  }
}
