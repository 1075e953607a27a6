/** @module `/v1/dataset-sources`: upstreams that operators register. Secret headers go in and never come out. */
import { createRoute, z } from "@hono/zod-openapi";
import { CreateDatasetSourceSchema, DatasetSourceSchema, SandbarError } from "@sandbar/shared";
import { addSource, deleteSource, listSources } from "../db/dataset-sources.ts";
import { type App, body, json, listOf, PageQuery, page, refused, secured } from "../openapi.ts";
import { seal } from "../sealed.ts";

export function datasetSourceRoutes(app: App): void {
  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/dataset-sources",
      tags: ["datasets"],
      summary: "Register a source of datasets",
      description:
        "`url_template` has `{id}` where a dataset's id goes. `headers` are secret: hosts send them to the source and they are never shown again.",
      security: secured,
      request: { body: body(CreateDatasetSourceSchema) },
      responses: { 201: json(DatasetSourceSchema, "The source, without its headers' values"), ...refused },
    }),
    async (c) => {
      const wanted = c.req.valid("json");
      const added = await addSource(c.env.DB, wanted, await seal(c.env, wanted.headers));
      if (!added) throw new SandbarError("SOURCE_EXISTS", `A source named ${wanted.name} exists`);
      c.set("audit", { target: added.id, detail: `${added.name}, tenant ${added.tenant ?? "any"}` });
      return c.json(added, 201);
    },
  );

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/dataset-sources",
      tags: ["datasets"],
      summary: "List sources of datasets, newest first",
      security: secured,
      request: { query: PageQuery },
      responses: { 200: json(listOf(DatasetSourceSchema), "A page of sources"), ...refused },
    }),
    async (c) => {
      const { limit, cursor } = c.req.valid("query");
      return c.json(page(await listSources(c.env.DB, cursor ?? null, limit + 1), limit), 200);
    },
  );

  app.openapi(
    createRoute({
      method: "delete",
      path: "/v1/dataset-sources/{id}",
      tags: ["datasets"],
      summary: "Remove a source, by id or name",
      security: secured,
      request: { params: z.object({ id: z.string().max(64) }) },
      responses: { 204: { description: "It is gone; staged datasets stay" }, ...refused },
    }),
    async (c) => {
      if (!(await deleteSource(c.env.DB, c.req.valid("param").id)))
        throw new SandbarError("NOT_FOUND", "No such source");
      return c.body(null, 204);
    },
  );
}
