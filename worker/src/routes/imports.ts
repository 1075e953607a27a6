/** @module `POST /v1/sessions/:id/import`: files into a session from wherever they are; one result for each, in order. */
import { createRoute, z } from "@hono/zod-openapi";
import {
  type Cause,
  type ImportFile,
  ImportRequestSchema,
  type ImportResult,
  ImportResultSchema,
  idSchema,
  SandbarError,
  type WrittenFile,
} from "@sandbar/shared";
import { unwrap } from "../answer.ts";
import { openArtifactBlob } from "../artifacts/artifact-source.ts";
import type { Caller } from "../auth.ts";
import { findPolicy } from "../db/policies.ts";
import type { Env } from "../env.ts";
import { type App, body, json, refused, secured } from "../openapi.ts";
import { failureOf } from "../problem.ts";
import { sessionObject } from "../rpc.ts";
import { Transfers } from "../transfer/transfers.ts";
import { pathParams } from "./file-path.ts";
import { callersSession } from "./request.ts";
import { SessionParams } from "./sessions.ts";

const AT_ONCE = 4;
const HOST_IMPORT_MS = 3600_000;
const SessionId = idSchema("ses");

export function importRoutes(app: App): void {
  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/sessions/{id}/import",
      tags: ["files"],
      summary: "Bring files into a session",
      description:
        "Each from text or base64 (`content`), another session of yours (`session_id` and `path`; a folder comes with all it has), " +
        "an artifact (`artifact_id`), or a file or folder of the host that its operator allows (`source`). One that fails does not stop the others.",
      security: secured,
      request: { params: SessionParams, body: body(ImportRequestSchema) },
      responses: {
        200: json(z.object({ data: z.array(ImportResultSchema) }), "One result per file"),
        ...refused,
      },
    }),
    async (c) => {
      const { id } = c.req.valid("param");
      const { files } = c.req.valid("json");
      const caller = c.get("caller");
      unwrap(await callersSession(c, id).describe());
      const data: ImportResult[] = new Array(files.length);
      let next = 0;
      const worker = async () => {
        while (next < files.length) {
          const at = next++;
          data[at] = await importOne(c.env, caller, c.get("cause"), id, files[at]!);
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, worker));
      return c.json({ data }, 200);
    },
  );
}

async function importOne(
  env: Env,
  caller: Caller,
  cause: Cause,
  id: string,
  file: ImportFile,
): Promise<ImportResult> {
  const { destination } = file;
  try {
    const { size, sha256 } = await bring(env, caller, cause, id, file);
    return { destination, ok: true, size, sha256 };
  } catch (error) {
    const { code, detail } = failureOf(error, "import", id, cause.request);
    return { destination, ok: false, error: { code, detail } };
  }
}

async function bring(
  env: Env,
  caller: Caller,
  cause: Cause,
  id: string,
  file: ImportFile,
): Promise<WrittenFile> {
  const { tenant, grant } = caller;
  if (grant && !("content" in file) && !("session_id" in file && file.session_id === id))
    throw new SandbarError("FORBIDDEN_BY_TOKEN", "To import what is outside of the session needs an API key");
  const transfers = new Transfers(env, caller, cause);
  const destination = { ...pathParams({ path: file.destination }), mkdirs: true };
  if ("content" in file) {
    const bytes = file.encoding === "base64" ? fromBase64(file.content) : fromText(file.content);
    const stream = new Response(bytes).body;
    return transfers.upload(id, "files.write", destination, stream, bytes.byteLength);
  }
  if ("session_id" in file) {
    if (!SessionId.safeParse(file.session_id).success) throw new SandbarError("NOT_FOUND", "No such session");
    return transfers.copy(file.session_id, pathParams({ path: file.path }), id, destination);
  }
  if ("artifact_id" in file) {
    const { artifact, stream } = await openArtifactBlob(env, tenant, file.artifact_id);
    return transfers.upload(id, "files.write", destination, stream, artifact.size);
  }
  const { imports } = (await findPolicy(env.DB, tenant)).effective.allow;
  if (imports === false)
    throw new SandbarError("FORBIDDEN_BY_POLICY", "This tenant may not import from folders of the host");
  const session = sessionObject(env, tenant, id);
  const below = imports === true ? {} : { below: imports };
  return unwrap(
    await session.ask(
      "files.import",
      { ...destination, source: file.source, ...below },
      HOST_IMPORT_MS,
      cause,
    ),
  );
}

function fromText(text: string): Uint8Array {
  if (!text.isWellFormed())
    throw new SandbarError("VALIDATION_FAILED", "content is not well-formed Unicode; send it as base64");
  return new TextEncoder().encode(text);
}

function fromBase64(text: string): Uint8Array {
  try {
    return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (char) =>
      char.charCodeAt(0),
    );
  } catch {
    throw new SandbarError("VALIDATION_FAILED", "content is not base64");
  }
}
