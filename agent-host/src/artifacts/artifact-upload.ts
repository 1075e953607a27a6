/** @module One large file into the control plane's store: in one request, or in parts that are each sent until they arrive. */
import { Readable } from "node:stream";
import { ProblemSchema, StartUploadAnswerSchema } from "@sandbar/shared";
import { z } from "zod";
import { putPresigned, refusalOf, type SignedRequests } from "../control-plane/signed-requests.ts";
import type { PushFile, PushTarget } from "./push-file.ts";

const PartSchema = z.object({ etag: z.string() });

export interface Upload {
  readonly plane: SignedRequests;
  readonly target: PushTarget;
  readonly signal: AbortSignal;
  /** Makes a request that may be made twice again and again, until it is answered. */
  untilAnswered<T>(attempt: () => Promise<T>): Promise<T>;
}

export async function uploadLarge(to: Upload, file: PushFile, wholeBytes: number): Promise<void> {
  const { plane, target, signal } = to;
  const { sha256, size } = file;
  const open = file.content as (offset: number, length: number) => Promise<Readable>;
  if (size > wholeBytes) return uploadInParts(to, file, open);
  // Not made again by itself: if only its answer was lost, the content is known now and need not be sent.
  const stream = size === 0 ? Readable.from([]) : await open(0, size);
  await plane.request(target, "PUT", `/agent/blobs/${sha256}`, { length: size, stream }, signal);
}

async function uploadInParts(
  { plane, target, signal, untilAnswered }: Upload,
  { sha256, size }: PushFile,
  open: (offset: number, length: number) => Promise<Readable>,
): Promise<void> {
  const { session } = target;
  const { upload, key, part_bytes, urls } = StartUploadAnswerSchema.parse(
    await plane.request(target, "POST", "/agent/uploads", { session, sha256, size }, signal),
  );
  const sendPart = async (part: number): Promise<string> => {
    const offset = (part - 1) * part_bytes;
    const length = Math.min(part_bytes, size - offset);
    const body = { length, stream: await open(offset, length) };
    const url = urls?.[part - 1];
    if (url) return putPresigned(url, body, signal);
    const path = `/agent/uploads/parts?${new URLSearchParams({ key, upload, part: String(part) })}`;
    return PartSchema.parse(await plane.request(target, "PUT", path, body, signal)).etag;
  };
  try {
    const parts: { part: number; etag: string }[] = [];
    for (let part = 1; (part - 1) * part_bytes < size; part++)
      parts.push({ part, etag: await untilAnswered(() => sendPart(part)) });
    const finish = { session, sha256, size, key, upload, parts };
    await untilAnswered(async () => {
      const path = "/agent/uploads/finish?progress=true";
      const answer = await plane.request(target, "POST", path, finish, signal);
      // One that took long began before its outcome was known: a problem stands in its body.
      const problem = ProblemSchema.safeParse(answer);
      if (problem.success) throw refusalOf(problem.data);
    });
  } catch (error) {
    // What stays in spite of this is the bucket's to expire.
    await plane.request(target, "POST", "/agent/uploads/abort", { session, key, upload }).catch(() => {});
    throw error;
  }
}
