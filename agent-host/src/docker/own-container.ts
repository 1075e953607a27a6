/**
 * Whether the daemon runs in a container beside those that it makes, and what the engine knows of it: then the engine finds
 * its folders elsewhere than it does, and sees none of its mounts.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import path from "node:path";
import type Docker from "dockerode";

export interface OwnMount {
  /** Where the engine has it. */
  readonly source: string;
  readonly destination: string;
}

export interface OwnContainer {
  readonly id: string;
  readonly image: string;
  readonly mounts: readonly OwnMount[];
}

/** Null on a machine of its own, and in a container of another engine than this one. */
export async function findOwnContainer(
  docker: Docker,
  mountTable: string = readMountTable(),
): Promise<OwnContainer | null> {
  const id = containerIdIn(mountTable);
  if (!id) return null;
  try {
    const { Id, Image, Mounts } = await docker.getContainer(id).inspect();
    const mounts = Mounts.map(({ Source, Destination }) => ({ source: Source, destination: Destination }));
    return { id: Id, image: Image, mounts };
  } catch (error) {
    if ((error as { statusCode?: number }).statusCode === 404) return null;
    throw error;
  }
}

/** The engine mounts these three files into every container, from a folder that has the container's id. */
export function containerIdIn(mountTable: string): string | null {
  for (const line of mountTable.split("\n")) {
    const [, , , root = "", place = ""] = line.split(" ");
    if (!/^\/etc\/(hostname|hosts|resolv\.conf)$/.test(place)) continue;
    const id = path.dirname(root).match(/\/([0-9a-f]{64})(\/|$)/)?.[1];
    if (id) return id;
  }
  return null;
}

function readMountTable(): string {
  try {
    return readFileSync("/proc/self/mountinfo", "utf8");
  } catch {
    return "";
  }
}
