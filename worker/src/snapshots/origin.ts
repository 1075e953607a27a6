/** @module The snapshot that a session begins with, and what a request for such a session means. */
import { type CreateSession, type Language, type Manifest, SandbarError } from "@sandbar/shared";
import { findSnapshot } from "../db/snapshots.ts";
import type { Env } from "../env.ts";
import { loadManifest, readManifest } from "./chunk-store.ts";

export interface Origin {
  readonly snapshot: string;
  readonly digest: string;
  /** When the snapshot was made. */
  readonly at: string;
  readonly contexts: { readonly name: string; readonly language: Language }[];
}

/** A request that names no snapshot is taken as it is. */
export async function beginning(
  env: Env,
  tenant: string,
  request: CreateSession,
): Promise<{ request: CreateSession; origin?: Origin }> {
  if (request.snapshot === undefined) return { request };
  const row = await findSnapshot(env.DB, tenant, request.snapshot);
  if (!row) throw new SandbarError("NOT_FOUND", "No such snapshot");
  const manifest = readManifest(await loadManifest(env, tenant, row));
  const contexts = manifest.contexts.map(({ name, language }) => ({ name, language }));
  return {
    request: withSpecOf(manifest, request),
    origin: { snapshot: row.id, digest: row.digest, at: row.created_at, contexts },
  };
}

/** The snapshot's specification where the request says nothing. Volumes live on their own and are not part of it. */
export function withSpecOf({ session }: Manifest, request: CreateSession): CreateSession {
  const { runtime, engine } = session;
  requireSame("runtime", request.runtime, runtime);
  requireSame("engine", request.engine === "any" ? undefined : request.engine, engine);
  return {
    storage: session.storage,
    datasets: { access: session.dataset_access },
    network: session.network,
    ...(session.image === null ? {} : { image: session.image }),
    ...request,
    runtime,
    engine,
    limits: { ...session.limits, ...request.limits },
    dependencies: { ...session.dependencies, ...request.dependencies },
    env: { ...session.env, ...request.env },
  };
}

/** Variables of one language or engine are not those of another. */
function requireSame(path: string, wanted: string | undefined, has: string): void {
  if (wanted === undefined || wanted === has) return;
  const message = `the snapshot has ${has}, and nothing else can take its variables`;
  throw new SandbarError("VALIDATION_FAILED", `${path}: ${message}`, { errors: [{ path, message }] });
}
