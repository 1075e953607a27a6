/** @module `/agent/snapshots`: where daemons bring what a session was, and fetch it for a session that begins with it. */
import {
  CHUNK_BATCH_BYTES,
  type Chunk,
  ChunkBundleSchema,
  ChunkCheckSchema,
  ChunkDamagedSchema,
  ChunkReadSchema,
  MANIFEST_LIMIT_BYTES,
  ManifestHeaderSchema,
  readJson,
  SandbarError,
} from "@sandbar/shared";
import type { Context } from "hono";
import type { z } from "zod";
import { unwrap } from "../answer.ts";
import type { AppEnv } from "../app-env.ts";
import type { NewBlob } from "../artifacts/blob-store.ts";
import type { HostClaim } from "../artifacts/host-auth.ts";
import type { Writing } from "../db/snapshots.ts";
import { ExpiringCache } from "../expiring-cache.ts";
import type { App } from "../openapi.ts";
import { validationFailure } from "../problem.ts";
import { sessionObject } from "../rpc.ts";
import {
  forgetDamaged,
  missingChunks,
  readChunks,
  storeChunks,
  storeManifest,
} from "../snapshots/chunk-store.ts";

const HEADER_BYTES = 64 * 1024;
const NEWLINE = 10;
const ORIGIN_MS = 5_000;

/** From which snapshot a session began. */
const origins = new ExpiringCache<string, string>(10_000);

export function agentSnapshotRoutes(app: App): void {
  app.post("/agent/snapshots/check", async (c) => {
    const { snapshot, session, chunks } = parsed(ChunkCheckSchema, await c.req.json());
    const writing = writingOf(c.get("host"), session, snapshot);
    return c.json({ missing: await missingChunks(c.env, writing, chunks) });
  });

  // PUTs, because the bodies of POST are read as JSON before any route sees them.
  app.put("/agent/snapshots/chunks", async (c) => {
    const { header, bytes } = await framed(c, ChunkBundleSchema, CHUNK_BATCH_BYTES);
    const writing = writingOf(c.get("host"), header.session, header.snapshot);
    await storeChunks(c.env, writing, cut(bytes, header.chunks));
    return c.body(null, 204);
  });

  app.put("/agent/snapshots/manifest", async (c) => {
    const { header, bytes } = await framed(c, ManifestHeaderSchema, MANIFEST_LIMIT_BYTES);
    const writing = writingOf(c.get("host"), header.session, header.snapshot);
    await storeManifest(c.env, writing, { sha256: header.sha256, bytes });
    return c.body(null, 204);
  });

  app.post("/agent/snapshots/read", async (c) => {
    const { session, snapshot, chunks } = parsed(ChunkReadSchema, await c.req.json());
    const claim = c.get("host");
    await requireOrigin(c, writingOf(claim, session, snapshot));
    const stream = await readChunks(c.env, claim.tenant, snapshot, chunks);
    return new Response(stream, { headers: { "Content-Type": "application/octet-stream" } });
  });

  app.post("/agent/snapshots/damaged", async (c) => {
    const { session, snapshot, sha256 } = parsed(ChunkDamagedSchema, await c.req.json());
    const claim = c.get("host");
    await requireOrigin(c, writingOf(claim, session, snapshot));
    return c.json({ damaged: await forgetDamaged(c.env, claim.tenant, snapshot, sha256) });
  });
}

function writingOf(claim: HostClaim, session: string, snapshot: string): Writing {
  if (claim.session !== session)
    throw new SandbarError("UNAUTHENTICATED", "The proof is for another session");
  return { tenant: claim.tenant, session, snapshot };
}

/** A session's host may have the snapshot that the session begins with, and no other. */
async function requireOrigin(c: Context<AppEnv>, { tenant, session, snapshot }: Writing): Promise<void> {
  const name = `${tenant}/${session}`;
  if (origins.get(name) === snapshot) return;
  const { restored } = unwrap(await sessionObject(c.env, tenant, session).describe());
  if (restored?.snapshot !== snapshot)
    throw new SandbarError("NOT_FOUND", "The session does not begin with this snapshot");
  origins.set(name, snapshot, ORIGIN_MS);
}

/** A line of JSON, then bytes. */
async function framed<T extends z.ZodType>(
  c: Context<AppEnv>,
  schema: T,
  most: number,
): Promise<{ header: z.infer<T>; bytes: Uint8Array }> {
  const request = c.req.raw;
  const length = Number(request.headers.get("Content-Length") ?? Number.NaN);
  if (!(length <= HEADER_BYTES + most)) {
    // An unread body would break the connection for the next request.
    await request.body?.cancel();
    throw new SandbarError("PAYLOAD_TOO_LARGE", `The body needs a Content-Length of at most ${most} bytes`);
  }
  const body = new Uint8Array(await request.arrayBuffer());
  const end = body.indexOf(NEWLINE);
  if (end < 0) throw new SandbarError("INVALID_JSON", "The body has no first line");
  return {
    header: parsed(schema, readJson(new TextDecoder().decode(body.subarray(0, end)))),
    bytes: body.subarray(end + 1),
  };
}

function cut(bytes: Uint8Array, chunks: readonly Chunk[]): NewBlob[] {
  let end = 0;
  const cuts = chunks.map(([sha256, size]) => {
    end += size;
    return { sha256, bytes: bytes.subarray(end - size, end) };
  });
  if (end !== bytes.length)
    throw new SandbarError("VALIDATION_FAILED", "The body's length is not that of its chunks");
  return cuts;
}

function parsed<T extends z.ZodType>(schema: T, value: unknown): z.infer<T> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const failure = validationFailure(result.error);
  throw new SandbarError(failure.code, failure.detail, failure);
}
