/** @module What the schedule does: expired artifacts go, content that nobody has goes, signing keys are replaced. */
import { eq } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { sweepPositions } from "../db/artifact-tables.ts";
import { expiredArtifacts } from "../db/artifacts.ts";
import { overdueSnapshots } from "../db/snapshots.ts";
import type { Env } from "../env.ts";
import { BLOB_PREFIX, deleteArtifacts, deleteObjects, deleteSnapshot, dropAbandoned } from "./blob-store.ts";
import { blobGraceMs, signingKeyAgeMs, snapshotGraceMs } from "./settings.ts";
import { rotateSigningKeys } from "./signing-keys.ts";

const AT_ONCE = 500;
const ROUNDS = 20;

export async function sweepArtifacts(env: Env): Promise<void> {
  await expire(env);
  await expireSnapshots(env);
  const old = new Date(Date.now() - blobGraceMs(env));
  await dropContentWithoutArtifact(env, old);
  await dropStrayObjects(env, old);
  await rotateSigningKeys(env.DB, signingKeyAgeMs(env));
}

async function expire(env: Env): Promise<void> {
  for (let i = 0; i < ROUNDS; i++) {
    const expired = await expiredArtifacts(env.DB, new Date().toISOString(), AT_ONCE);
    if (expired.length > 0) await deleteArtifacts(env, expired);
    if (expired.length < AT_ONCE) return;
  }
}

async function expireSnapshots(env: Env): Promise<void> {
  const now = Date.now();
  const abandoned = new Date(now - snapshotGraceMs(env)).toISOString();
  const overdue = await overdueSnapshots(env.DB, new Date(now).toISOString(), abandoned, AT_ONCE);
  for (const { tenant, id, state } of overdue) await deleteSnapshot(env, tenant, id, state);
}

/** Deletions take unused content with them, so each is looked at only once: when no ingestion can be after it any more. */
async function dropContentWithoutArtifact(env: Env, olderThan: Date): Promise<void> {
  const until = olderThan.toISOString();
  await dropAbandoned(env, await position(env, "content"), until);
  await setPosition(env, "content", until);
}

/** A page of the bucket in each run: objects that an interrupted upload or deletion left without a row. */
async function dropStrayObjects(env: Env, olderThan: Date): Promise<void> {
  const after = await position(env, "objects");
  const listed = await env.BLOBS.list({ prefix: BLOB_PREFIX, ...(after ? { startAfter: after } : {}) });
  const old = listed.objects.filter(({ uploaded }) => uploaded < olderThan).map(({ key }) => key);
  await deleteObjects(env, old);
  await setPosition(env, "objects", listed.truncated ? (listed.objects.at(-1)?.key ?? "") : "");
}

async function position(env: Env, name: string): Promise<string> {
  const rows = await drizzle(env.DB).select().from(sweepPositions).where(eq(sweepPositions.name, name));
  return rows[0]?.position ?? "";
}

async function setPosition(env: Env, name: string, position: string): Promise<void> {
  await drizzle(env.DB)
    .insert(sweepPositions)
    .values({ name, position })
    .onConflictDoUpdate({ target: sweepPositions.name, set: { position } });
}
