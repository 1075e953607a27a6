/** @module An artifact's bytes for another part of the product: imports, datasets. */
import { SandbarError } from "@sandbar/shared";
import { type Descriptor, descriptor, findArtifact } from "../db/artifacts.ts";
import type { Env } from "../env.ts";
import { findBlob, openBlob } from "./blob-store.ts";

export async function openArtifactBlob(
  env: Env,
  tenant: string,
  artifactId: string,
): Promise<{ artifact: Descriptor; stream: ReadableStream<Uint8Array> }> {
  const row = await findArtifact(env.DB, tenant, artifactId);
  if (!row) throw new SandbarError("NOT_FOUND", "No such artifact");
  const blob = await findBlob(env, tenant, row.sha256);
  if (!blob) throw new SandbarError("CONTENT_LOST");
  const stream = await openBlob(env, blob);
  if (!stream) throw new SandbarError("NOT_FOUND", "No such artifact");
  return { artifact: descriptor(row), stream };
}
