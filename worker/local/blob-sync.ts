/**
 * Brings R2's bytes to the disk. Miniflare leaves that to the kernel, which takes half a minute, while rows in D1 are
 * there at once: with the power gone in between, artifacts would be listed whose bytes are lost.
 *
 * @module
 */
import { type FSWatcher, mkdirSync, watch } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";

/** Returns what ends it, once all that was written before is synced. */
export function syncBlobs(folder: string): () => Promise<void> {
  mkdirSync(folder, { recursive: true });
  const written = new Set<string>();
  let syncing: Promise<void> | null = null;

  async function syncAll(): Promise<void> {
    while (written.size > 0) {
      const names = [...written];
      written.clear();
      for (const name of names) await sync(join(folder, name));
      await sync(folder);
    }
    syncing = null;
  }

  const onChange = (_event: string, name: string | null) => {
    // Under a name with a dot it is not complete yet.
    if (name === null || name.startsWith(".")) return;
    written.add(name);
    syncing ??= syncAll();
  };
  const onFailure = (error: unknown) => console.error("blobs are left to the kernel to sync", error);
  let watcher: FSWatcher | null = null;
  try {
    watcher = watch(folder, onChange).on("error", onFailure);
  } catch (error) {
    // The machine may have no watch left; that is no reason not to serve.
    onFailure(error);
  }
  return async () => {
    watcher?.close();
    await syncing;
  };
}

async function sync(path: string): Promise<void> {
  try {
    await using file = await open(path);
    await file.datasync();
  } catch (error) {
    // Deleted again meanwhile.
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") console.error("could not sync", path, error);
  }
}
