/** @module A snapshot from the question to its end: its row, what the host does, and what is left when that fails. */
import {
  type CreateSnapshot,
  type ErrorCode,
  newId,
  SandbarError,
  SNAPSHOT_TTL_DEFAULT_S,
} from "@sandbar/shared";
import { unwrap } from "../answer.ts";
import { deleteSnapshot } from "../artifacts/blob-store.ts";
import { artifactLimits } from "../artifacts/settings.ts";
import { addSnapshot, findSnapshot, type ReadySnapshot } from "../db/snapshots.ts";
import type { Env } from "../env.ts";
import { sessionObject } from "../rpc.ts";

/** The host may go on with it: what nobody finishes is given up by the schedule, and the same request joins it until then. */
const MAY_GO_ON: ReadonlySet<ErrorCode> = new Set(["HOST_UNREACHABLE", "HOST_TIMEOUT"]);

export async function takeSnapshot(
  env: Env,
  tenant: string,
  session: string,
  { name, ttl_s = SNAPSHOT_TTL_DEFAULT_S, on_busy = "wait" }: CreateSnapshot,
  requestKey: string | null = null,
): Promise<ReadySnapshot> {
  const object = sessionObject(env, tenant, session);
  // Nothing is written in the name of a session that is not the caller's.
  unwrap(await object.describe());
  const now = Date.now();
  const id = newId("snp");
  const row = await addSnapshot(
    env.DB,
    {
      id,
      tenant,
      session_id: session,
      name: name ?? null,
      request_key: requestKey,
      created_at: new Date(now).toISOString(),
      expires_at: new Date(now + ttl_s * 1000).toISOString(),
    },
    artifactLimits(env),
  );
  if (!row) throw new SandbarError("QUOTA_EXCEEDED", "The tenant may have no more artifacts and snapshots");
  if (row.state === "writing") {
    const answer = await object.snapshot(row.id, on_busy);
    if ("failure" in answer) {
      // Asked a second time, a host that has finished it can only fail.
      const finished = await findSnapshot(env.DB, tenant, row.id);
      if (finished) return finished;
      // What the host had brought of it goes with it, unless others wait for it.
      if (row.id === id && !MAY_GO_ON.has(answer.failure.code))
        await deleteSnapshot(env, tenant, row.id, "writing");
      unwrap(answer);
    }
  }
  const made = await findSnapshot(env.DB, tenant, row.id);
  if (!made) throw new SandbarError("NOT_FOUND", "The snapshot was deleted or has expired");
  return made;
}
