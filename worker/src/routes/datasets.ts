/** @module `/v1/sessions/:id/datasets`: staged from a source, an artifact or the caller; listed; exported. */
import { createRoute, z } from "@hono/zod-openapi";
import {
  ArtifactSchema,
  DATASET_FOLDER,
  type Dataset,
  DatasetFormatSchema,
  DatasetIdSchema,
  DatasetListSchema,
  DatasetSchema,
  DatasetVersionSchema,
  datasetExportName,
  datasetFile,
  ErrorCodeSchema,
  type HostParams,
  type HostResult,
  SandbarError,
  Sha256Schema,
  StageDatasetSchema,
} from "@sandbar/shared";
import type { Context } from "hono";
import { unwrap } from "../answer.ts";
import type { AppEnv } from "../app-env.ts";
import { withLinks } from "../artifacts/links.ts";
import { Staging } from "../datasets/staging.ts";
import { type App, body, json, refused, secured } from "../openapi.ts";
import { linkBase } from "./artifacts.ts";
import { callersSession, prefersAsync } from "./request.ts";
import { SessionParams } from "./sessions.ts";

const EXPORT_MS = 3600_000;
/** Of 1000 entries each. */
const LOCAL_PAGES = 10;
const LOCAL_DEPTH = 16;

const DatasetParams = SessionParams.extend({ dataset: DatasetIdSchema });
const Bytes = { "application/octet-stream": { schema: z.string().openapi({ format: "binary" }) } };
const staged = {
  200: json(DatasetSchema, "It was there already, or it failed and `error` says why"),
  201: json(DatasetSchema, "It is loaded"),
  202: json(DatasetSchema, "It is on its way (`Prefer: respond-async`)"),
  ...refused,
};

export function datasetRoutes(app: App): void {
  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/sessions/{id}/datasets",
      tags: ["datasets"],
      summary: "Stage a dataset from a registered source or an artifact",
      description:
        "It appears at `/session/data/<id>.parquet` (an id with an extension keeps it). Loaded already, with the same version or SHA-256, " +
        "it is not fetched again unless `refresh` asks for it; many requests at once fetch once.",
      security: secured,
      request: { params: SessionParams, body: body(StageDatasetSchema) },
      responses: staged,
    }),
    async (c) => {
      const { id } = c.req.valid("param");
      const { source, artifact_id, format, ...given } = c.req.valid("json");
      await requireApi(c, id);
      const wanted = {
        id: given.id,
        file: datasetFile(given.id, format),
        sha256: given.sha256 ?? null,
        version: given.version ?? null,
        refresh: given.refresh ?? false,
        wait: !prefersAsync(c),
      };
      const staging = new Staging(c.env, c.get("caller"), id);
      const { dataset, fresh } = artifact_id
        ? await staging.fromArtifact(wanted, artifact_id)
        : await staging.fromSource(wanted, source || null);
      return c.json(dataset!, statusOf(dataset!, fresh));
    },
  );

  app.openapi(
    createRoute({
      method: "put",
      path: "/v1/sessions/{id}/datasets/{dataset}",
      tags: ["datasets"],
      summary: "Stage a dataset from the request's body",
      description:
        "`sha256` is checked; with it, or with `version`, bytes that are loaded already are not taken again.",
      security: secured,
      request: {
        params: DatasetParams,
        query: z.object({
          sha256: Sha256Schema.optional(),
          version: DatasetVersionSchema.optional(),
          format: DatasetFormatSchema.optional(),
        }),
        body: { content: Bytes, required: true },
      },
      responses: staged,
    }),
    async (c) => {
      const { id, dataset: did } = c.req.valid("param");
      const { sha256, version, format } = c.req.valid("query");
      await requireApi(c, id);
      const wanted = {
        id: did,
        file: datasetFile(did, format),
        sha256: sha256 ?? header(c, "X-Dataset-Sha256", Sha256Schema),
        version: version ?? header(c, "X-Dataset-Version", DatasetVersionSchema),
        refresh: false,
        wait: true,
      };
      const length = c.req.header("Content-Length");
      const size = c.req.raw.body === null ? 0 : length === undefined ? null : Number(length);
      const staging = new Staging(c.env, c.get("caller"), id);
      const { dataset, fresh } = await staging.fromBody(wanted, c.req.raw.body, size);
      return c.json(dataset!, statusOf(dataset!, fresh));
    },
  );

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/sessions/{id}/datasets",
      tags: ["datasets"],
      summary: "List a session's datasets",
      description:
        "API: what was staged. LOCAL_RO: the files below `/data`. NONE: nothing, and a message that says so.",
      security: secured,
      request: { params: SessionParams },
      responses: { 200: json(DatasetListSchema, "The datasets and how the session gets them"), ...refused },
    }),
    async (c) => {
      const { id } = c.req.valid("param");
      const { access } = unwrap(await callersSession(c, id).describe()).datasets;
      if (access === "LOCAL_RO") return c.json({ access, ...(await localFiles(c, id)) }, 200);
      if (access === "API") {
        const { data } = unwrap(await callersSession(c, id).ask("datasets.list", {}));
        return c.json({ access, data }, 200);
      }
      const message = "No datasets are available: the session was created with the dataset access NONE.";
      return c.json({ access, data: [], message }, 200);
    },
  );

  app.openapi(
    createRoute({
      method: "delete",
      path: "/v1/sessions/{id}/datasets/{dataset}",
      tags: ["datasets"],
      summary: "Take a dataset out of a session",
      description:
        "A file that was only deleted comes back before the next execution; one taken out does not.",
      security: secured,
      request: { params: DatasetParams },
      responses: { 204: { description: "It is gone" }, ...refused },
    }),
    async (c) => {
      const { id, dataset } = c.req.valid("param");
      await requireApi(c, id);
      const { removed } = unwrap(await callersSession(c, id).ask("datasets.remove", { id: dataset }));
      if (!removed) throw new SandbarError("NOT_FOUND", "No such dataset");
      return c.body(null, 204);
    },
  );

  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/sessions/{id}/datasets/{dataset}/export",
      tags: ["datasets"],
      summary: "Keep a dataset, as it is now, as an artifact",
      description:
        "The name carries the time: `<id>_<YYYYMMDDTHHMMSSZ>.parquet`. The file stays in the session.",
      security: secured,
      request: { params: DatasetParams },
      responses: { 201: json(ArtifactSchema, "The artifact"), ...refused },
    }),
    async (c) => {
      const { id, dataset: did } = c.req.valid("param");
      await requireApi(c, id);
      const session = callersSession(c, id);
      const listed = unwrap(await session.ask("datasets.list", {}));
      // What code wrote beside the staged ones can be kept too.
      const path =
        listed.data.find((dataset) => dataset.id === did)?.path ?? `${DATASET_FOLDER}/${datasetFile(did)}`;
      const name = datasetExportName(path.slice(DATASET_FOLDER.length + 1), new Date());
      const files = [{ source: path, name }];
      const [result] = unwrap(await session.ask("artifacts.export", { files }, EXPORT_MS)).data;
      if (!result?.artifact) {
        const code = ErrorCodeSchema.safeParse(result?.error?.code);
        throw new SandbarError(code.success ? code.data : "HOST_ERROR", result?.error?.detail);
      }
      return c.json((await withLinks(c.env, linkBase(c), [result.artifact]))[0]!, 201);
    },
  );
}

async function requireApi(c: Context<AppEnv>, id: string): Promise<void> {
  const { access } = unwrap(await callersSession(c, id).describe()).datasets;
  if (access !== "API")
    throw new SandbarError("DATASETS_DISABLED", `The session's dataset access is ${access}`);
}

function statusOf({ status }: Dataset, fresh: boolean): 200 | 201 | 202 {
  if (status === "PENDING") return 202;
  return status === "LOADED" && fresh ? 201 : 200;
}

function header<T>(c: Context<AppEnv>, name: string, schema: z.ZodType<T>): T | null {
  const value = c.req.header(name);
  if (value === undefined) return null;
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const message = parsed.error.issues[0]?.message ?? "is not valid";
  throw new SandbarError("VALIDATION_FAILED", `${name} ${message}`, { errors: [{ path: name, message }] });
}

async function localFiles(c: Context<AppEnv>, id: string): Promise<{ data: Dataset[]; message?: string }> {
  const data: Dataset[] = [];
  let cursor: string | null = null;
  for (let pages = 0; pages < LOCAL_PAGES; pages++) {
    const params: HostParams<"files.list"> = {
      path: "/data",
      depth: LOCAL_DEPTH,
      limit: 1000,
      ...(cursor ? { cursor } : {}),
    };
    const page: HostResult<"files.list"> = unwrap(await callersSession(c, id).ask("files.list", params));
    for (const { path, type, size, mtime } of page.entries) {
      if (type !== "file") continue;
      const below = path.replace(/^\/data\//, "");
      data.push({ id: below, status: "LOADED", path, size, sha256: null, version: null, mtime });
    }
    cursor = page.next_cursor;
    if (cursor === null) return { data };
  }
  return {
    data,
    message: `There are more files than these ${data.length}; list /data as files to see them all.`,
  };
}
