/** @module The folders of the host that a session in WebAssembly sees, and where it sees them. */
import { chmod, mkdir } from "node:fs/promises";
import path from "node:path";
import { SandbarError, type SessionSpec } from "@sandbar/shared";
import type { Mount } from "../../wasm/kernel/wire.ts";
import type { BindFolders } from "../box/bind-folders.ts";
import { mountTmpfs } from "../box/mounts.ts";
import type { Config } from "../host/config.ts";

export interface Mounts {
  readonly mounts: Mount[];
  /** The host could mount a file system of the right size; otherwise somebody has to count. */
  readonly bounded: boolean;
}

export async function makeMounts(
  config: Config,
  bindFolders: BindFolders,
  session: string | null,
  spec: SessionSpec,
  files: string,
): Promise<Mounts> {
  await mkdir(files, { recursive: true, mode: 0o711 });
  const bounded = await mountTmpfs(files, spec.limits.tmpfs_mb).then(
    () => true,
    () => false,
  );
  await chmod(files, 0o711);
  const mounts: Mount[] = [await inFiles(files, "tmp")];
  if (spec.storage === "BIND")
    mounts.push({
      ...{ at: "/session", root: await bindFolders.provide(session!) },
      ...{ readOnly: false, counted: false },
    });
  else mounts.push(await inFiles(files, "session"));
  if (spec.dataset_access === "LOCAL_RO")
    mounts.push({ at: "/data", root: datasets(config), readOnly: true, counted: false });
  return { mounts, bounded };
}

async function inFiles(files: string, name: string): Promise<Mount> {
  const root = path.join(files, name);
  await mkdir(root, { recursive: true, mode: 0o700 });
  return { at: `/${name}`, root, readOnly: false, counted: true };
}

function datasets({ datasetsRoot }: Config): string {
  if (datasetsRoot) return datasetsRoot;
  throw new SandbarError("DATASETS_UNAVAILABLE", "DATASETS_HOST_RO is not set on the session's host");
}
