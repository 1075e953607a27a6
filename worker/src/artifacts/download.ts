/** @module The bytes of an artifact, for `/artifacts/:id?token=` and `/v1/artifacts/:id/content`: range, revalidation, and headers that let nothing run. */
import { SandbarError } from "@sandbar/shared";
import type { Context } from "hono";
import type { AppEnv } from "../app-env.ts";
import { findArtifact } from "../db/artifacts.ts";
import { bytesWhileGood } from "../while-good.ts";
import { findBlob, openBlob } from "./blob-store.ts";
import { contentDisposition, SAFE_HEADERS, servedType } from "./headers.ts";
import { openedBy } from "./links.ts";
import { parseRange } from "./range.ts";

/** For whoever has the link. */
export async function download(c: Context<AppEnv>, id: string): Promise<Response> {
  const token = new URL(c.req.url).searchParams.get("token") ?? "";
  const tenant = await openedBy(c.env, id, token);
  if (tenant === null) throw new SandbarError("LINK_INVALID");
  return content(c, tenant, id);
}

export async function content(c: Context<AppEnv>, tenant: string, id: string): Promise<Response> {
  const { env } = c;
  const request = c.req.raw;
  const artifact = await findArtifact(env.DB, tenant, id);
  const blob = artifact && (await findBlob(env, tenant, artifact.sha256));
  if (!artifact) throw new SandbarError("NOT_FOUND", "The artifact was deleted or has expired");
  if (!blob) throw new SandbarError("CONTENT_LOST");

  const etag = `"${artifact.sha256}"`;
  const headers = new Headers({
    ...SAFE_HEADERS,
    "Accept-Ranges": "bytes",
    ETag: etag,
    "Last-Modified": new Date(artifact.created_at).toUTCString(),
    "Content-Type": servedType(artifact.mime),
    "Content-Disposition": contentDisposition(artifact.name),
  });
  if (names(request.headers.get("If-None-Match"), etag)) return new Response(null, { status: 304, headers });

  // Range is for GET alone. With a stale If-Range the client holds other bytes and needs all of ours.
  const ifRange = request.headers.get("If-Range");
  const ranged = request.method !== "HEAD" && (ifRange === null || ifRange === etag);
  const range = parseRange((ranged && request.headers.get("Range")) || undefined, blob.size);
  if (range === "unsatisfiable") {
    c.header("Content-Range", `bytes */${blob.size}`);
    throw new SandbarError("RANGE_NOT_SATISFIABLE", `The artifact has ${blob.size} bytes`);
  }
  const { start, length } = range === "whole" ? { start: 0, length: blob.size } : range;
  if (range !== "whole") headers.set("Content-Range", `bytes ${start}-${start + length - 1}/${blob.size}`);
  headers.set("Content-Length", String(length));
  const status = range === "whole" ? 200 : 206;
  if (request.method === "HEAD") return new Response(null, { status, headers });
  const bytes = await openBlob(env, blob, start, length);
  if (!bytes) throw new SandbarError("NOT_FOUND", "The artifact was deleted a moment ago");
  return new Response(bytesWhileGood(c, bytes, length), { status, headers });
}

function names(header: string | null, etag: string): boolean {
  if (header === null) return false;
  return header.split(",").some((part) => part.trim() === "*" || part.trim().replace(/^W\//, "") === etag);
}
