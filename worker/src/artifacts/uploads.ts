/**
 * Content of any size: one request through the Worker, or in parts, through the Worker or straight into R2.
 * A row is written only for bytes whose SHA-256 was verified here.
 *
 * @module
 */
import { PART_BYTES, SandbarError, type StartUploadAnswer } from "@sandbar/shared";
import type { Env } from "../env.ts";
import { openToken, signedToken } from "../signed-token.ts";
import { addBlobRows, fromStore, hex, newObjectKey } from "./blob-store.ts";
import { presign, r2Credentials } from "./presign.ts";
import { artifactLimits, maxBodyBytes } from "./settings.ts";

const PART_URL_S = 3600;
const AUDIENCE = "upload";
const UPLOAD_LIFE_S = 24 * 3600;
const MAX_PARTS = 10_000;

/** With credentials bytes do not pass through the Worker. */
export const wholeBytes = (env: Env) => (r2Credentials(env) ? 0 : maxBodyBytes(env));

/** R2 compares the hash itself and keeps nothing of a body that is cut or wrong. */
export async function putWhole(env: Env, tenant: string, sha256: string, request: Request): Promise<void> {
  const size = await bodyLength(env, request);
  const object_key = newObjectKey(tenant, sha256);
  await fromStore(
    env.BLOBS.put(object_key, request.body ?? new Uint8Array(0), { sha256 }).catch((error) => {
      if (!/checksum|sha-?256|10037/i.test(String(error))) throw error;
      throw new SandbarError("VALIDATION_FAILED", `The bytes do not have the SHA-256 ${sha256}`);
    }),
  );
  await addBlobRows(env.DB, [{ tenant, sha256, size, object_key, object_offset: 0 }]).run();
}

/** Whoever began an upload: nobody else may go on with it, not even a session of the same tenant. */
export interface UploadOwner {
  readonly tenant: string;
  readonly session: string;
}

export async function startUpload(
  env: Env,
  owner: UploadOwner,
  sha256: string,
  size: number,
): Promise<StartUploadAnswer> {
  if (size > artifactLimits(env).fileBytes) throw new SandbarError("PAYLOAD_TOO_LARGE");
  const credentials = r2Credentials(env);
  const most = credentials ? 5 * 1024 ** 3 : maxBodyBytes(env);
  const part_bytes = Math.min(most, Math.max(PART_BYTES, Math.ceil(size / MAX_PARTS)));
  const key = newObjectKey(owner.tenant, sha256);
  const { uploadId } = await fromStore(env.BLOBS.createMultipartUpload(key));
  const urls =
    credentials &&
    (await Promise.all(
      Array.from({ length: Math.ceil(size / part_bytes) }, (_, index) =>
        presign(credentials, "PUT", key, { partNumber: String(index + 1), uploadId }, PART_URL_S),
      ),
    ));
  return { upload: await handleOf(env, owner, key, uploadId), key, part_bytes, urls };
}

export async function putPart(
  env: Env,
  owner: UploadOwner,
  { key, upload, part }: { key: string; upload: string; part: number },
  request: Request,
): Promise<string> {
  await bodyLength(env, request);
  const begun = await resume(env, owner, key, upload);
  const uploaded = await fromStore(begun.uploadPart(part, request.body ?? new Uint8Array(0)));
  return uploaded.etag;
}

export async function finishUpload(
  env: Env,
  owner: UploadOwner,
  wanted: {
    sha256: string;
    size: number;
    key: string;
    upload: string;
    parts: { part: number; etag: string }[];
  },
): Promise<void> {
  const { sha256, size, key, upload } = wanted;
  const begun = await resume(env, owner, key, upload);
  const parts = wanted.parts.map(({ part, etag }) => ({ partNumber: part, etag }));
  const object = await begun.complete(parts).catch(async (error) => {
    // Completed by an earlier request whose answer was lost.
    const complete = await env.BLOBS.head(key);
    if (!complete) throw error;
    return complete;
  });
  // The parts' checksums say nothing about the whole, so it is read once.
  const digest = object.size === size ? await digestOf(env, key) : null;
  if (digest !== sha256) {
    await env.BLOBS.delete(key);
    throw new SandbarError("VALIDATION_FAILED", `The bytes do not have the SHA-256 ${sha256}`);
  }
  const { tenant } = owner;
  await addBlobRows(env.DB, [{ tenant, sha256, size, object_key: key, object_offset: 0 }]).run();
}

export async function abortUpload(env: Env, owner: UploadOwner, key: string, upload: string): Promise<void> {
  await (await resume(env, owner, key, upload)).abort();
}

async function digestOf(env: Env, key: string): Promise<string | null> {
  const object = await fromStore(env.BLOBS.get(key));
  if (!object) return null;
  const digest = new crypto.DigestStream("SHA-256");
  await object.body.pipeTo(digest);
  return hex(await digest.digest);
}

/** What a daemon has in the place of the store's own id. */
function handleOf(env: Env, owner: UploadOwner, key: string, upload: string): Promise<string> {
  const { tenant, session } = owner;
  const expires = Math.floor(Date.now() / 1000) + UPLOAD_LIFE_S;
  return signedToken(env, { audience: AUDIENCE, subject: key }, { tenant, session, upload }, expires);
}

async function resume(env: Env, { tenant, session }: UploadOwner, key: string, handle: string) {
  const claims = await openToken(env, handle, { audience: AUDIENCE, subject: key });
  if (!claims || claims.tenant !== tenant || claims.session !== session)
    throw new SandbarError("NOT_FOUND", "No such upload");
  return env.BLOBS.resumeMultipartUpload(key, String(claims.upload));
}

async function bodyLength(env: Env, request: Request): Promise<number> {
  const most = maxBodyBytes(env);
  const length = Number(request.headers.get("Content-Length") ?? Number.NaN);
  if (length <= most) return length;
  await request.body?.cancel();
  throw new SandbarError("PAYLOAD_TOO_LARGE", `A request needs a Content-Length of at most ${most} bytes`);
}
