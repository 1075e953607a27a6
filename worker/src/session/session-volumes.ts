/** @module A session's hold on its volumes: each lies on one host, so the session must be there too. */
import type { SessionSpec } from "@sandbar/shared";
import { type Answer, ok } from "../answer.ts";
import { findPolicy } from "../db/policies.ts";
import { hostOfVolumes, releaseVolumes, takeVolumes } from "../db/volumes.ts";
import type { Env } from "../env.ts";

type Mounts = SessionSpec["volumes"];

const namesOf = (mounts: Mounts) => mounts.map(({ name }) => name);

export async function volumesHost(env: Env, tenant: string, mounts: Mounts): Promise<Answer<string | null>> {
  return mounts.length ? hostOfVolumes(env.DB, tenant, namesOf(mounts)) : ok(null);
}

export async function holdVolumes(
  env: Env,
  session: { id: string; tenant: string },
  host: string,
  mounts: Mounts,
): Promise<Answer<Pick<SessionSpec, "volume_sizes">>> {
  if (!mounts.length) return ok({});
  const { effective } = await findPolicy(env.DB, session.tenant);
  const names = namesOf(mounts);
  const taken = await takeVolumes(env.DB, session.tenant, session.id, host, names, effective.shares);
  return "failure" in taken ? taken : ok({ volume_sizes: taken.value });
}

export async function letVolumesGo(env: Env, session: string, mounts: Mounts): Promise<void> {
  if (mounts.length) await releaseVolumes(env.DB, session);
}
