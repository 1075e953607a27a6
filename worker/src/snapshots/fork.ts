/** @module Sessions that begin as another one is now: all that were asked for, or none. */
import { type Cause, type CreateSession, type Fork, newId, type Session } from "@sandbar/shared";
import { unwrap } from "../answer.ts";
import { deleteSnapshot } from "../artifacts/blob-store.ts";
import type { Env } from "../env.ts";
import { requestWithoutValues } from "../network/secret-values.ts";
import { sessionObject } from "../rpc.ts";
import { beginning, type Origin } from "./origin.ts";
import { takeSnapshot } from "./take.ts";

/** The snapshot in between is deleted when the forks are there, and by itself if that fails. */
const BETWEEN_TTL_S = 3600;

export async function forkSession(
  env: Env,
  { tenant, made_by }: { readonly tenant: string; readonly made_by: string | null },
  cause: Cause,
  session: string,
  { count = 1, on_busy, ...spec }: Fork,
): Promise<Session[]> {
  const options = { ttl_s: BETWEEN_TTL_S, ...(on_busy === undefined ? {} : { on_busy }) };
  const { id: snapshot } = await takeSnapshot(env, tenant, session, options);
  try {
    const { request, origin } = await beginning(env, tenant, { ...spec, snapshot });
    const ids = Array.from({ length: count }, () => newId("ses"));
    const made = await Promise.allSettled(
      ids.map((id) => begin(env, tenant, id, request, { created_by: made_by, cause }, origin)),
    );
    const failed = made.find((one) => one.status === "rejected");
    if (failed) {
      await Promise.allSettled(ids.map((id) => sessionObject(env, tenant, id).stop("fork failed")));
      throw failed.reason;
    }
    return made.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  } finally {
    await deleteSnapshot(env, tenant, snapshot);
  }
}

/** A session of its own id, ready. */
async function begin(
  env: Env,
  tenant: string,
  id: string,
  request: CreateSession,
  by: { readonly created_by: string | null; readonly cause: Cause },
  origin: Origin | undefined,
): Promise<Session> {
  const { request: plain, sealed } = await requestWithoutValues(env, tenant, request);
  const input = { id, tenant, key: id, request: plain, sealed_values: sealed, ...by, origin };
  return unwrap(await sessionObject(env, tenant, id).create(input, true));
}
