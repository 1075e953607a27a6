/** @module What a warm box is made of; a box with another fingerprint is of another time. */
import { createHash } from "node:crypto";
import { readdir, stat } from "node:fs/promises";
import path from "node:path";
import type { SessionSpec } from "@sandbar/shared";
import { VERSION } from "@sandbar/shared";
import type { Config } from "../host/config.ts";
import type { Containers } from "./containers.ts";

/** Null when the image is not there. */
export async function fingerprint(
  config: Config,
  containers: Containers,
  spec: SessionSpec,
  key: string,
  late: boolean,
): Promise<string | null> {
  const image = containers.imageOf(spec);
  if (!(await containers.hasImage(image))) return null;
  const parts = [
    VERSION,
    await containers.imageId(image),
    key,
    late,
    config.datasetsRoot,
    config.defaults,
    config.imagesDir,
    config.caBundle,
    config.openFiles,
    config.users,
    config.runtime,
    config.kernelPreload,
    await newestChange(config.imagesDir),
  ];
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64url");
}

/** The guest and the kernels are mounted in, so a running box keeps what it has loaded. */
async function newestChange(imagesDir: string): Promise<number> {
  let newest = 0;
  for (const folder of ["guest", "kernels"])
    for (const entry of await readdir(path.join(imagesDir, folder), { recursive: true, withFileTypes: true }))
      if (entry.isFile() && !entry.name.endsWith(".pyc"))
        newest = Math.max(newest, (await stat(path.join(entry.parentPath, entry.name))).mtimeMs);
  return newest;
}
