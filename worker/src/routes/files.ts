/** @module `/v1/sessions/:id/files`: a session's files, streamed both ways. */
import { createRoute, z } from "@hono/zod-openapi";
import { FileEntrySchema, newId, SandbarError, WrittenFileSchema } from "@sandbar/shared";
import { unwrap } from "../answer.ts";
import { type App, body, events, flag, json, listOf, refused, secured } from "../openapi.ts";
import { Transfers } from "../transfer/transfers.ts";
import { answer, head, rangeParams, TAR } from "./file-answer.ts";
import { PATH_LIMIT, PathQuery, pathParams } from "./file-path.ts";
import { bodySize, callersSession, eventStream } from "./request.ts";
import { SessionParams } from "./sessions.ts";

const REMOVE_MS = 120_000;
const ARCHIVES: Record<string, { gzip: boolean }> = {
  [TAR]: { gzip: false },
  "application/tar": { gzip: false },
  "application/gzip": { gzip: true },
  "application/x-gzip": { gzip: true },
};

const ETAG = /^(?:W\/)?"([\w-]{1,64})"$/;

/** One etag, as we give them, or `*`. */
function ifMatch(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  const etag = header.trim() === "*" ? "*" : ETAG.exec(header.trim())?.[1];
  if (etag === undefined) throw new SandbarError("VALIDATION_FAILED", 'If-Match must be one "etag" or *');
  return etag;
}

const Bytes = { "application/octet-stream": { schema: z.string().openapi({ format: "binary" }) } };
const Archive = { [TAR]: { schema: z.string().openapi({ format: "binary" }) } };

export function fileRoutes(app: App): void {
  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/sessions/{id}/files",
      tags: ["files"],
      summary: "Read a file, or a folder as tar",
      description:
        "Takes one `Range`. `HEAD` answers the same headers. Symlinks are followed, inside the sandbox.",
      security: secured,
      request: {
        params: SessionParams,
        query: PathQuery,
        headers: z.object({ range: z.string().optional() }),
      },
      responses: {
        200: { description: "The bytes", content: { ...Bytes, ...Archive } },
        206: { description: "The range", content: Bytes },
        ...refused,
      },
    }),
    async (c) => {
      const { id } = c.req.valid("param");
      const session = callersSession(c, id);
      const path = pathParams(c.req.valid("query"));
      const known = ETAG.exec(c.req.header("If-None-Match") ?? "")?.[1];
      if (c.req.method === "HEAD") {
        const asked = { ...path, follow: true, readable: true };
        const entry = unwrap(await session.ask("files.stat", asked));
        return head(path, entry, known) as never;
      }
      const range = rangeParams(c);
      const transfers = new Transfers(c.env, c.get("caller"), c.get("cause"));
      const params = { ...path, ...range, follow: true, ...(known ? { known } : {}) };
      const { opened, body } = await transfers.download(id, params);
      return answer(c, path, opened, body, range !== null) as never;
    },
  );

  app.openapi(
    createRoute({
      method: "put",
      path: "/v1/sessions/{id}/files",
      tags: ["files"],
      summary: "Write a file, or unpack an archive",
      description:
        "The body is the file. It appears under its name when all of it has come; a cut upload leaves nothing. " +
        "With `extract=true` the body is a tar archive (`application/x-tar`, or `application/gzip`), unpacked below the path, " +
        "all of it or nothing. With `If-Match` a file is only replaced while it has that etag (or `*`: while there is one), " +
        "else 412 `ETAG_MISMATCH`. One request may have MAX_BODY_BYTES: 100 MB on Cloudflare, 5 GB on one machine.",
      security: secured,
      request: {
        params: SessionParams,
        query: PathQuery.extend({
          extract: flag.optional(),
          mkdirs: flag.optional(),
          mode: z
            .string()
            .regex(/^0?[0-7]{3}$/, "must be three octal digits")
            .optional(),
        }),
        headers: z.object({ "if-match": z.string().optional() }),
        body: { content: { ...Bytes, ...Archive }, required: true },
      },
      responses: { 201: json(WrittenFileSchema, "It is written"), ...refused },
    }),
    async (c) => {
      const { id } = c.req.valid("param");
      callersSession(c, id);
      const { extract, mkdirs, mode, ...given } = c.req.valid("query");
      const path = pathParams(given);
      const size = bodySize(c);
      const expected = ifMatch(c.req.valid("header")["if-match"]);
      const transfers = new Transfers(c.env, c.get("caller"), c.get("cause"));
      if (extract) {
        if (expected !== undefined)
          throw new SandbarError("VALIDATION_FAILED", "If-Match is about a file, not about an archive");
        const type = (c.req.header("Content-Type") ?? "").split(";")[0]!.trim().toLowerCase();
        const archive = ARCHIVES[type];
        if (!archive)
          throw new SandbarError("UNSUPPORTED_MEDIA_TYPE", `To extract, send ${TAR} or application/gzip`);
        const params = { ...path, ...archive };
        return c.json(await transfers.upload(id, "files.untar", params, c.req.raw.body, size), 201);
      }
      const params = {
        ...path,
        mkdirs: mkdirs ?? true,
        ...(mode === undefined ? {} : { mode: Number.parseInt(mode, 8) }),
        ...(expected === undefined ? {} : { if_match: expected }),
      };
      const written = await transfers.upload(id, "files.write", params, c.req.raw.body, size);
      return c.json(written, 201, written.etag === undefined ? {} : { ETag: `"${written.etag}"` });
    },
  );

  app.openapi(
    createRoute({
      method: "delete",
      path: "/v1/sessions/{id}/files",
      tags: ["files"],
      summary: "Remove a file or a folder",
      security: secured,
      request: { params: SessionParams, query: PathQuery.extend({ recursive: flag.optional() }) },
      responses: { 204: { description: "It is gone" }, ...refused },
    }),
    async (c) => {
      const { recursive, ...given } = c.req.valid("query");
      const session = callersSession(c, c.req.valid("param").id);
      unwrap(
        await session.ask(
          "files.remove",
          { ...pathParams(given), recursive: recursive ?? false, once: newId("req") },
          REMOVE_MS,
        ),
      );
      return c.body(null, 204);
    },
  );

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/sessions/{id}/files/list",
      tags: ["files"],
      summary: "List a folder",
      description: "In the order of the names' bytes, folders before what is in them.",
      security: secured,
      request: {
        params: SessionParams,
        query: PathQuery.extend({
          depth: z.coerce.number().int().min(1).max(64).default(1),
          limit: z.coerce.number().int().min(1).max(1000).default(1000),
          cursor: z.string().max(6000).optional(),
        }),
      },
      responses: { 200: json(listOf(FileEntrySchema), "A page of entries"), ...refused },
    }),
    async (c) => {
      const { depth, limit, cursor, ...given } = c.req.valid("query");
      const session = callersSession(c, c.req.valid("param").id);
      const params = { ...pathParams(given, "."), depth, limit, ...(cursor ? { cursor } : {}) };
      const page = unwrap(await session.ask("files.list", params));
      return c.json({ data: page.entries, next_cursor: page.next_cursor }, 200);
    },
  );

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/sessions/{id}/files/stat",
      tags: ["files"],
      summary: "Look at one path, without following it",
      security: secured,
      request: { params: SessionParams, query: PathQuery },
      responses: { 200: json(FileEntrySchema, "What is there"), ...refused },
    }),
    async (c) => {
      const session = callersSession(c, c.req.valid("param").id);
      const entry = unwrap(await session.ask("files.stat", pathParams(c.req.valid("query"))));
      return c.json(entry, 200);
    },
  );

  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/sessions/{id}/files/mkdir",
      tags: ["files"],
      summary: "Make a folder and those above it",
      security: secured,
      request: {
        params: SessionParams,
        body: body(z.strictObject({ path: z.string().max(PATH_LIMIT), parents: z.boolean().default(true) })),
      },
      responses: { 201: json(FileEntrySchema, "The folder"), ...refused },
    }),
    async (c) => {
      const { path, parents } = c.req.valid("json");
      const session = callersSession(c, c.req.valid("param").id);
      const entry = unwrap(await session.ask("files.mkdir", { ...pathParams({ path }), parents }));
      return c.json(entry, 201);
    },
  );

  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/sessions/{id}/files/move",
      tags: ["files"],
      summary: "Rename or move a file or folder",
      security: secured,
      request: {
        params: SessionParams,
        body: body(
          z.strictObject({
            from: z.string().max(PATH_LIMIT),
            to: z.string().max(PATH_LIMIT),
            overwrite: z.boolean().default(false),
            mkdirs: z.boolean().default(true),
          }),
        ),
      },
      responses: { 200: json(FileEntrySchema, "What is there now"), ...refused },
    }),
    async (c) => {
      const session = callersSession(c, c.req.valid("param").id);
      const request = c.req.valid("json");
      for (const path of [request.from, request.to]) pathParams({ path });
      const moved = unwrap(await session.ask("files.move", { ...request, once: newId("req") }));
      return c.json(moved, 200);
    },
  );

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/sessions/{id}/files/watch",
      tags: ["files"],
      summary: "Follow changes below a folder",
      description:
        "Events `created`, `modified`, `deleted` (`{type, path, directory}`, paths below the folder) from now on, and " +
        "`overflow` when too much happened at once, or when more folders are there than can be watched (2,000). A move is a `deleted` and a `created`.",
      security: secured,
      request: { params: SessionParams, query: PathQuery.extend({ recursive: flag.optional() }) },
      responses: { 200: events("Server-sent events"), ...refused },
    }),
    async (c) => {
      const { id } = c.req.valid("param");
      callersSession(c, id);
      const { recursive, ...given } = c.req.valid("query");
      const params = { ...pathParams(given, "."), recursive: recursive ?? true };
      const stream = await new Transfers(c.env, c.get("caller"), c.get("cause")).follow(id, params);
      return eventStream(stream) as never;
    },
  );
}
