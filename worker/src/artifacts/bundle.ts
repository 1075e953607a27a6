/** @module The framed body of many small blobs: a line of JSON, then their bytes. */
import { BUNDLE_BYTES, type BundleHeader, BundleHeaderSchema, SandbarError } from "@sandbar/shared";
import { validationFailure } from "../problem.ts";
import type { NewBlob } from "./blob-store.ts";

/** Names and hashes of as many files as one ingestion may have. */
const HEADER_BYTES = 8 * 1024 * 1024;
const NEWLINE = 10;

export async function readBundle(
  request: Request,
): Promise<{ header: BundleHeader; blobs: NewBlob[]; bytes: Uint8Array }> {
  const length = Number(request.headers.get("Content-Length") ?? Number.NaN);
  if (!(length <= HEADER_BYTES + BUNDLE_BYTES)) {
    // An unread body would break the connection for the next request.
    await request.body?.cancel();
    throw new SandbarError(
      "PAYLOAD_TOO_LARGE",
      `A bundle needs a Content-Length of at most ${BUNDLE_BYTES} bytes`,
    );
  }
  const body = new Uint8Array(await request.arrayBuffer());
  const end = body.indexOf(NEWLINE);
  if (end < 0) throw new SandbarError("INVALID_JSON", "The bundle has no first line");
  const header = parseHeader(body.subarray(0, end));
  const blobs: NewBlob[] = [];
  let at = end + 1;
  for (const { sha256, size } of header.blobs) {
    blobs.push({ sha256, bytes: body.subarray(at, at + size) });
    at += size;
  }
  if (at !== body.length)
    throw new SandbarError("VALIDATION_FAILED", "The bundle's length is not that of its blobs");
  return { header, blobs, bytes: body.subarray(end + 1) };
}

function parseHeader(line: Uint8Array): BundleHeader {
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(line));
  } catch {
    throw new SandbarError("INVALID_JSON", "The bundle's first line is not JSON");
  }
  const parsed = BundleHeaderSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  const failure = validationFailure(parsed.error);
  throw new SandbarError(failure.code, failure.detail, failure);
}
