/**
 * A snapshot as one file: a line of JSON, the manifest, then its chunks, each once and in the manifest's order. The line
 * carries a seal of this deployment over tenant and digest, and the digest holds all the rest.
 *
 * @module
 */
import { chunksOf, SNAPSHOT_FORMAT } from "@sandbar/shared";
import type { ReadySnapshot } from "../db/snapshots.ts";
import type { Env } from "../env.ts";
import { seal } from "../sealed.ts";
import { closing, findChunks, loadManifest, readManifest, sendChunks } from "./chunk-store.ts";

const AT_ONCE = 64;

export async function openSnapshotFile(
  env: Env,
  { id, tenant, digest }: ReadySnapshot,
  /** Ends it before its time. */
  { signal, over }: { signal?: AbortSignal; over?: () => void } = {},
): Promise<{ length: number; stream: ReadableStream<Uint8Array> }> {
  const manifest = await loadManifest(env, tenant, { id, digest });
  const sealed = await seal(env, { purpose: "snapshot", tenant, digest });
  const line = { format: SNAPSHOT_FORMAT, digest, manifest_bytes: manifest.length, seal: sealed };
  const head = new TextEncoder().encode(`${JSON.stringify(line)}\n`);
  const chunks = chunksOf(readManifest(manifest));
  const length = chunks.reduce((sum, [, size]) => sum + size, head.length + manifest.length);
  const { readable, writable } = new FixedLengthStream(length);
  void closing(writable, async () => {
    const writer = writable.getWriter();
    await writer.write(head);
    await writer.write(manifest);
    writer.releaseLock();
    for (let i = 0; i < chunks.length; i += AT_ONCE) {
      const digests = chunks.slice(i, i + AT_ONCE).map(([sha256]) => sha256);
      await sendChunks(env, await findChunks(env, tenant, id, digests), writable, signal);
    }
  }).finally(over);
  return { length, stream: readable };
}
