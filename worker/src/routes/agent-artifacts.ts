/** @module `/agent/artifacts`, `/agent/blobs`: where daemons bring what sessions made. */
import {
  type BundleAnswer,
  DigestSchema,
  FinishUploadSchema,
  type IngestCheckAnswer,
  IngestCheckSchema,
  SandbarError,
  StartUploadSchema,
  toProblem,
} from "@sandbar/shared";
import type { Context } from "hono";
import type { z } from "zod";
import type { AppEnv } from "../app-env.ts";
import { refusals } from "../artifacts/admission.ts";
import { addBlobRows, storeBundle } from "../artifacts/blob-store.ts";
import { readBundle } from "../artifacts/bundle.ts";
import type { HostClaim } from "../artifacts/host-auth.ts";
import { patientAnswer } from "../artifacts/patient-answer.ts";
import { artifactLimits, artifactTtlMs } from "../artifacts/settings.ts";
import {
  abortUpload,
  finishUpload,
  putPart,
  putWhole,
  startUpload,
  wholeBytes,
} from "../artifacts/uploads.ts";
import { descriptor, lookUpFiles, recordFiles } from "../db/artifacts.ts";
import type { App } from "../openapi.ts";
import { validationFailure } from "../problem.ts";
import { sessionObject } from "../rpc.ts";

export function agentArtifactRoutes(app: App): void {
  app.post("/agent/artifacts/check", async (c) => {
    const claim = c.get("host");
    const { session, taken, files } = await jsonOf(c, IngestCheckSchema);
    requireSession(claim, session);
    const { recorded, unknown, used } = await lookUpFiles(c.env.DB, claim, files);
    const refused = refusals(files, recorded, used, artifactLimits(c.env), taken);
    const refusedAt = new Set(refused.map(({ index }) => index));
    const wanted = new Set(files.filter((_, index) => !refusedAt.has(index)).map(({ sha256 }) => sha256));
    const answer: IngestCheckAnswer = {
      unknown: unknown.filter((sha256) => wanted.has(sha256)),
      whole_bytes: wholeBytes(c.env),
      refused,
    };
    return c.json(answer);
  });

  // A PUT, because the bodies of POST are read as JSON before any route sees them.
  app.put("/agent/artifacts", async (c) => {
    const claim = c.get("host");
    const { header, blobs, bytes } = await readBundle(c.req.raw);
    requireSession(claim, header.session);
    const { execution, files } = header;
    const stored = await storeBundle(c.env, claim.tenant, blobs, bytes);
    // One transaction: content without an artifact would only wait for the sweep.
    const before = stored.length > 0 ? [addBlobRows(c.env.DB, stored)] : [];
    const begun = new Date().toISOString();
    const recorded = await recordFiles(
      c.env.DB,
      claim,
      { execution, limits: artifactLimits(c.env), ttlMs: artifactTtlMs(c.env), before },
      files,
    );
    // Links are made for whoever reads the record, when they read it.
    const answer: BundleAnswer = {
      recorded: recorded.map(({ index, artifact }) => ({
        index,
        artifact: { ...descriptor(artifact), url: "" },
      })),
    };
    // Those of an execution are told with its end, and those that were recorded before have been told.
    const fresh = answer.recorded.map(({ artifact }) => artifact).filter((one) => one.created_at >= begun);
    if (execution === null && fresh.length > 0)
      c.executionCtx.waitUntil(sessionObject(c.env, claim.tenant, claim.session).artifactsTaken(fresh));
    return c.json(answer);
  });

  app.put("/agent/blobs/:sha256", async (c) => {
    const claim = c.get("host");
    await putWhole(c.env, claim.tenant, sha256Of(c.req.param("sha256")), c.req.raw);
    return c.body(null, 204);
  });

  app.post("/agent/uploads", async (c) => {
    const claim = c.get("host");
    const { session, sha256, size } = await jsonOf(c, StartUploadSchema);
    requireSession(claim, session);
    return c.json(await startUpload(c.env, claim, sha256, size));
  });

  app.put("/agent/uploads/parts", async (c) => {
    const claim = c.get("host");
    const { key, upload, part } = c.req.query();
    if (!key || !upload || !/^[1-9]\d{0,4}$/.test(part ?? ""))
      throw new SandbarError("VALIDATION_FAILED", "key, upload and part are needed");
    const etag = await putPart(c.env, claim, { key, upload, part: Number(part) }, c.req.raw);
    return c.json({ etag });
  });

  app.post("/agent/uploads/finish", async (c) => {
    const claim = c.get("host");
    const wanted = await jsonOf(c, FinishUploadSchema);
    requireSession(claim, wanted.session);
    const work = finishUpload(c.env, claim, wanted);
    // Reading tens of gigabytes takes minutes; daemons of an earlier version wait for the status.
    const stream =
      c.req.query("progress") === undefined
        ? await work.then(() => null)
        : await patientAnswer(work, (failure) => toProblem(failure, c.get("requestId")), c.get("requestId"));
    if (!stream) return c.body(null, 204);
    // It is worth finishing for whoever asks again.
    c.executionCtx.waitUntil(work.catch(() => {}));
    return c.body(stream, 200, { "Content-Type": "application/json" });
  });

  app.post("/agent/uploads/abort", async (c) => {
    const claim = c.get("host");
    const { session, key, upload } = await jsonOf(
      c,
      FinishUploadSchema.pick({ session: true, key: true, upload: true }),
    );
    requireSession(claim, session);
    await abortUpload(c.env, claim, key, upload);
    return c.body(null, 204);
  });
}

async function jsonOf<T extends z.ZodType>(c: Context<AppEnv>, schema: T): Promise<z.infer<T>> {
  const parsed = schema.safeParse(await c.req.json());
  if (parsed.success) return parsed.data;
  const failure = validationFailure(parsed.error);
  throw new SandbarError(failure.code, failure.detail, failure);
}

function requireSession(claim: HostClaim, session: string): void {
  if (claim.session !== session)
    throw new SandbarError("UNAUTHENTICATED", "The proof is for another session");
}

function sha256Of(text: string): string {
  if (!DigestSchema.safeParse(text).success) throw new SandbarError("NOT_FOUND", "No such path");
  return text;
}
