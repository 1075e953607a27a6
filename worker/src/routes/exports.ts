/** @module `POST /v1/sessions/:id/export`: files and folders of a session as artifacts; the originals stay. */
import { createRoute, z } from "@hono/zod-openapi";
import { ExportRequestSchema, ExportResultSchema } from "@sandbar/shared";
import { unwrap } from "../answer.ts";
import { withLinks } from "../artifacts/links.ts";
import { type App, body, json, refused, secured } from "../openapi.ts";
import { linkBase } from "./artifacts.ts";
import { callersSession } from "./request.ts";
import { SessionParams } from "./sessions.ts";

const EXPORT_MS = 3600_000;
const Results = z.object({ data: z.array(ExportResultSchema) });

export function exportRoutes(app: App): void {
  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/sessions/{id}/export",
      tags: ["artifacts"],
      summary: "Keep files of a session as artifacts",
      description:
        "A folder becomes a tar archive. One that fails does not stop the others; the originals stay.",
      security: secured,
      request: { params: SessionParams, body: body(ExportRequestSchema) },
      responses: { 200: json(Results, "One result per file, in order"), ...refused },
    }),
    async (c) => {
      const { files } = c.req.valid("json");
      const session = callersSession(c, c.req.valid("param").id);
      const { data } = unwrap(await session.ask("artifacts.export", { files }, EXPORT_MS));
      const linked = await Promise.all(
        data.map(async ({ artifact, ...result }) => {
          if (!artifact) return result;
          return { ...result, artifact: (await withLinks(c.env, linkBase(c), [artifact]))[0]! };
        }),
      );
      return c.json({ data: linked }, 200);
    },
  );
}
