/**
 * Removes what uploads that were cut have left: Miniflare's R2 writes a file for each value and then a row that names
 * it, and nothing ever finds a file without one.
 *
 * @module
 */
import { existsSync, readdirSync } from "node:fs";
import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** An upload that is on its way writes to its file, and gets its row right after. */
const GRACE_MS = 3600_000;

/** `r2` is Miniflare's folder, `bucket` the bucket's name. */
export async function sweepBlobs(r2: string, bucket: string): Promise<void> {
  const folder = join(r2, bucket, "blobs");
  const old: string[] = [];
  for (const name of await readdir(folder)) {
    const status = await stat(join(folder, name)).catch(() => null);
    if (status && status.mtimeMs < Date.now() - GRACE_MS) old.push(name);
  }
  // Read after the files, so that none of them can have got its row since.
  const named = old.length > 0 ? namedBlobs(join(r2, "miniflare-R2BucketObject")) : null;
  if (!named) return;
  for (const name of old) if (!named.has(name)) await rm(join(folder, name), { force: true });
}

/** Null when there is no database of the kind that this knows: then nothing may be removed. */
function namedBlobs(folder: string): Set<string> | null {
  let named: Set<string> | null = null;
  for (const name of existsSync(folder) ? readdirSync(folder) : []) {
    if (!name.endsWith(".sqlite") || name === "metadata.sqlite") continue;
    const db = new DatabaseSync(join(folder, name), { readOnly: true, timeout: 5_000 });
    try {
      const rows = db.prepare(
        "SELECT blob_id FROM _mf_objects WHERE blob_id IS NOT NULL UNION SELECT blob_id FROM _mf_multipart_parts",
      );
      named ??= new Set();
      for (const { blob_id } of rows.iterate()) named.add(String(blob_id));
    } finally {
      db.close();
    }
  }
  return named;
}
