/** @module `/v1/snapshots` and the snapshots and forks of a session. */
import { createRoute, z } from "@hono/zod-openapi";
import { CreateSnapshotSchema, ForkSchema, idSchema, SandbarError } from "@sandbar/shared";
import type { Context } from "hono";
import { unwrap } from "../answer.ts";
import type { AppEnv } from "../app-env.ts";
import { deleteSnapshot } from "../artifacts/blob-store.ts";
import { SAFE_HEADERS } from "../artifacts/headers.ts";
import { findSnapshot, listSnapshots, type ReadySnapshot, shownSnapshot } from "../db/snapshots.ts";
import {
  type App,
  body,
  json,
  listOf,
  PageQuery,
  refused,
  SessionBody,
  SnapshotBody,
  secured,
} from "../openapi.ts";
import { forkSession } from "../snapshots/fork.ts";
import { openSnapshotFile } from "../snapshots/snapshot-file.ts";
import { takeSnapshot } from "../snapshots/take.ts";
import { untilRevoked } from "../while-good.ts";
import { callersSession, idempotencyKey } from "./request.ts";
import { SessionParams } from "./sessions.ts";

const SnapshotParams = z.object({ id: z.string() });
const SnapshotId = idSchema("snp");
const Bytes = { "application/octet-stream": { schema: z.string().openapi({ format: "binary" }) } };
const Key = z.object({ "idempotency-key": z.string().optional() });

export function snapshotRoutes(app: App): void {
  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/sessions/{id}/snapshots",
      tags: ["snapshots"],
      summary: "Snapshot a session",
      description:
        "Keeps the files of /session and the variables of every context, and says of each variable what became of it. The session goes on. It is finished also when the caller hangs up; the same `Idempotency-Key` finds it.",
      security: secured,
      request: {
        params: SessionParams,
        headers: Key,
        body: { ...body(CreateSnapshotSchema), required: false },
      },
      responses: { 201: json(SnapshotBody, "The snapshot"), ...refused },
    }),
    async (c) => {
      const { id } = c.req.valid("param");
      callersSession(c, id);
      const taking = takeSnapshot(c.env, c.get("caller").tenant, id, c.req.valid("json"), idempotencyKey(c));
      c.executionCtx.waitUntil(taking.catch(() => {}));
      const snapshot = shownSnapshot(await taking);
      c.header("Location", `/v1/snapshots/${snapshot.id}`);
      return c.json(snapshot, 201);
    },
  );

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/sessions/{id}/snapshots",
      tags: ["snapshots"],
      summary: "List a session's snapshots, newest first",
      description: "Also when the session has ended.",
      security: secured,
      request: { params: SessionParams, query: PageQuery },
      responses: { 200: json(listOf(SnapshotBody), "A page of snapshots"), ...refused },
    }),
    async (c) => {
      const { id } = c.req.valid("param");
      const { limit, cursor } = c.req.valid("query");
      const { tenant } = c.get("caller");
      const found = await listSnapshots(c.env.DB, tenant, { session_id: id }, cursor ?? null, limit);
      // Snapshots outlive their session; without any, only the session itself can say that it is known.
      if (found.data.length === 0) unwrap(await callersSession(c, id).describe());
      return c.json({ ...found, data: found.data.map(shownSnapshot) }, 200);
    },
  );

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/snapshots",
      tags: ["snapshots"],
      summary: "List snapshots, newest first",
      security: secured,
      request: {
        query: PageQuery.extend({
          session_id: z.string().max(64).optional(),
          name: z.string().max(128).optional(),
        }),
      },
      responses: { 200: json(listOf(SnapshotBody), "A page of snapshots"), ...refused },
    }),
    async (c) => {
      const { limit, cursor, ...filter } = c.req.valid("query");
      const found = await listSnapshots(c.env.DB, c.get("caller").tenant, filter, cursor ?? null, limit);
      return c.json({ ...found, data: found.data.map(shownSnapshot) }, 200);
    },
  );

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/snapshots/{id}",
      tags: ["snapshots"],
      summary: "Get a snapshot",
      security: secured,
      request: { params: SnapshotParams },
      responses: { 200: json(SnapshotBody, "The snapshot"), ...refused },
    }),
    async (c) => c.json(shownSnapshot(await callersSnapshot(c)), 200),
  );

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/snapshots/{id}/content",
      tags: ["snapshots"],
      summary: "Download a snapshot",
      description: "One file, sealed by this deployment: manifest and chunks, as docs/snapshots.md says.",
      security: secured,
      request: { params: SnapshotParams },
      responses: { 200: { content: Bytes, description: "The file" }, ...refused },
    }),
    async (c) => {
      const row = await callersSnapshot(c);
      const { length, stream } = await openSnapshotFile(c.env, row, untilRevoked(c));
      return new Response(stream, {
        headers: {
          ...SAFE_HEADERS,
          "Content-Type": "application/octet-stream",
          "Content-Length": String(length),
          "Content-Disposition": `attachment; filename="${row.id}.sandbar"`,
          ETag: `"${row.digest}"`,
        },
      }) as never;
    },
  );

  app.openapi(
    createRoute({
      method: "delete",
      path: "/v1/snapshots/{id}",
      tags: ["snapshots"],
      summary: "Delete a snapshot",
      description: "Its content goes where nothing else of the tenant has it.",
      security: secured,
      request: { params: SnapshotParams },
      responses: { 204: { description: "It is deleted" }, ...refused },
    }),
    async (c) => {
      const { tenant, id } = await callersSnapshot(c);
      await deleteSnapshot(c.env, tenant, id);
      return c.body(null, 204);
    },
  );

  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/sessions/{id}/fork",
      tags: ["snapshots"],
      summary: "Fork a session",
      description:
        "New sessions with ids of their own that begin with its files and variables; all of them, or none. Volumes are not theirs.",
      security: secured,
      request: { params: SessionParams, body: { ...body(ForkSchema), required: false } },
      responses: {
        201: json(z.object({ data: z.array(SessionBody) }), "The new sessions, ready"),
        ...refused,
      },
    }),
    async (c) => {
      const { id } = c.req.valid("param");
      callersSession(c, id);
      const forking = forkSession(c.env, c.get("caller"), c.get("cause"), id, c.req.valid("json"));
      c.executionCtx.waitUntil(forking.catch(() => {}));
      return c.json({ data: await forking }, 201);
    },
  );
}

async function callersSnapshot(c: Context<AppEnv>): Promise<ReadySnapshot> {
  const id = c.req.param("id") ?? "";
  const row = SnapshotId.safeParse(id).success
    ? await findSnapshot(c.env.DB, c.get("caller").tenant, id)
    : null;
  if (!row) throw new SandbarError("NOT_FOUND", "No such snapshot");
  return row;
}
