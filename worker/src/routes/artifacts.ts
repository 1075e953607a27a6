/** @module `/v1/artifacts`, `/artifacts/:id`: what sessions left behind, its links and its bytes. */
import { createRoute, z } from "@hono/zod-openapi";
import { ArtifactSchema, DigestSchema, idSchema, SandbarError } from "@sandbar/shared";
import type { Context } from "hono";
import { unwrap } from "../answer.ts";
import type { AppEnv } from "../app-env.ts";
import { deleteArtifacts } from "../artifacts/blob-store.ts";
import { content, download } from "../artifacts/download.ts";
import { LINK_DEFAULT_S, type LinkTo, linkTo, withLinks } from "../artifacts/links.ts";
import { LINK_MAX_S } from "../artifacts/signing-keys.ts";
import { descriptor, findArtifact, listArtifacts } from "../db/artifacts.ts";
import { type App, body, json, listOf, PageQuery, page, refused, secured } from "../openapi.ts";
import { callersSession } from "./request.ts";

const ArtifactParams = z.object({ id: z.string() });
const ArtifactId = idSchema("art");

const Bytes = { "application/octet-stream": { schema: z.string().openapi({ format: "binary" }) } };

const Filter = z.object({
  name: z.string().max(4096).optional(),
  execution_id: z.string().max(64).optional(),
});

const LinkRequest = z.strictObject({
  expires_in_s: z.number().int().min(1).max(LINK_MAX_S).default(LINK_DEFAULT_S),
});

/** Links lead back to where the caller came from. */
export function linkBase(c: Context<AppEnv>): LinkTo {
  return { tenant: c.get("caller").tenant, origin: new URL(c.req.url).origin };
}

function artifactId(id: string): string {
  if (!ArtifactId.safeParse(id).success) throw new SandbarError("NOT_FOUND", "No such artifact");
  return id;
}

export function artifactRoutes(app: App): void {
  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/sessions/{id}/artifacts",
      tags: ["artifacts"],
      summary: "List a session's artifacts, newest first",
      security: secured,
      request: { params: ArtifactParams, query: PageQuery.extend(Filter.shape) },
      responses: { 200: json(listOf(ArtifactSchema), "A page of artifacts"), ...refused },
    }),
    async (c) => {
      const { id } = c.req.valid("param");
      const { limit, cursor, ...filter } = c.req.valid("query");
      const { tenant } = c.get("caller");
      const rows = await listArtifacts(
        c.env.DB,
        tenant,
        { ...filter, session_id: id },
        cursor ?? null,
        limit + 1,
      );
      // Artifacts outlive their session; without any, only the session itself can say that it is known.
      if (rows.length === 0) unwrap(await callersSession(c, id).describe());
      return c.json(await linkedPage(c, rows, limit), 200);
    },
  );

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/artifacts",
      tags: ["artifacts"],
      summary: "List artifacts, newest first",
      security: secured,
      request: {
        query: PageQuery.extend({
          ...Filter.shape,
          session_id: z.string().max(64).optional(),
          sha256: DigestSchema.optional(),
        }),
      },
      responses: { 200: json(listOf(ArtifactSchema), "A page of artifacts"), ...refused },
    }),
    async (c) => {
      const { limit, cursor, ...given } = c.req.valid("query");
      const { tenant, grant } = c.get("caller");
      if (grant && given.session_id !== undefined && given.session_id !== grant.session_id)
        return c.json({ data: [], next_cursor: null }, 200);
      const filter = grant ? { ...given, session_id: grant.session_id } : given;
      const rows = await listArtifacts(c.env.DB, tenant, filter, cursor ?? null, limit + 1);
      return c.json(await linkedPage(c, rows, limit), 200);
    },
  );

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/artifacts/{id}",
      tags: ["artifacts"],
      summary: "Get an artifact's descriptor",
      security: secured,
      request: { params: ArtifactParams },
      responses: { 200: json(ArtifactSchema, "The artifact"), ...refused },
    }),
    async (c) => {
      const artifact = descriptor(await callersArtifact(c));
      return c.json({ ...artifact, url: (await linkTo(c.env, linkBase(c), artifact)).url }, 200);
    },
  );

  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/artifacts/{id}/link",
      tags: ["artifacts"],
      summary: "Make a link to an artifact's bytes",
      description:
        "Whoever has the link can read the bytes until it expires; 10 minutes unless told otherwise.",
      security: secured,
      request: { params: ArtifactParams, body: { ...body(LinkRequest), required: false } },
      responses: { 200: json(z.object({ url: z.string(), expires_at: z.string() }), "The link"), ...refused },
    }),
    async (c) => {
      // Without a body the validator gives an empty object, without the defaults.
      const { expires_in_s = LINK_DEFAULT_S } = c.req.valid("json");
      const artifact = descriptor(await callersArtifact(c));
      const { grant, expires_at } = c.get("caller");
      // A short-lived token makes nothing that outlives it.
      const left =
        grant && expires_at ? Math.floor((Date.parse(expires_at) - Date.now()) / 1000) : LINK_MAX_S;
      return c.json(await linkTo(c.env, linkBase(c), artifact, Math.min(expires_in_s, left)), 200, {
        "Cache-Control": "no-store",
      });
    },
  );

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/artifacts/{id}/content",
      tags: ["artifacts"],
      summary: "Get an artifact's bytes",
      description:
        "From this origin, also where links lead to R2; with `Range`. It is always a download, with a policy that lets nothing in it run.",
      security: secured,
      request: { params: ArtifactParams },
      responses: {
        200: { content: Bytes, description: "The bytes" },
        206: { content: Bytes, description: "The range of them" },
        ...refused,
      },
    }),
    async (c) => {
      const { id } = await callersArtifact(c);
      return content(c, c.get("caller").tenant, id) as never;
    },
  );

  app.openapi(
    createRoute({
      method: "delete",
      path: "/v1/artifacts/{id}",
      tags: ["artifacts"],
      summary: "Delete an artifact",
      description: "Its bytes go when no other artifact of the tenant has them.",
      security: secured,
      request: { params: ArtifactParams },
      responses: { 204: { description: "It is deleted" }, ...refused },
    }),
    async (c) => {
      await deleteArtifacts(c.env, [await callersArtifact(c)]);
      return c.body(null, 204);
    },
  );

  // Hono answers HEAD through GET's handler, which sees the method in the raw request.
  app.get("/artifacts/:id", (c) => download(c, artifactId(c.req.param("id"))));
}

async function callersArtifact(c: Context<AppEnv>) {
  const id = artifactId(c.req.param("id") ?? "");
  const { tenant, grant } = c.get("caller");
  const row = await findArtifact(c.env.DB, tenant, id);
  if (!row || (grant && row.session_id !== grant.session_id))
    throw new SandbarError("NOT_FOUND", "No such artifact");
  return row;
}

async function linkedPage(
  c: Context<AppEnv>,
  rows: Awaited<ReturnType<typeof listArtifacts>>,
  limit: number,
) {
  const { data, next_cursor } = page(rows, limit);
  return { data: await withLinks(c.env, linkBase(c), data), next_cursor };
}
