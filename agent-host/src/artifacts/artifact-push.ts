/**
 * Brings files to the control plane: asks what it has, sends what it lacks, has them recorded. Every step may be taken
 * again: content is known by its hash, a record by session, name, hash and version.
 *
 * @module
 */
import {
  type Artifact,
  BundleAnswerSchema,
  type IngestCheckAnswer,
  IngestCheckAnswerSchema,
  type IngestFile,
} from "@sandbar/shared";
import type { SignedRequests } from "../control-plane/signed-requests.ts";
import { type Upload, uploadLarge } from "./artifact-upload.ts";
import type { PushFile, PushTarget } from "./push-file.ts";

export interface Pushed {
  readonly recorded: Map<PushFile, Artifact>;
  readonly refused: Map<PushFile, { reason: string; final: boolean }>;
}

/** A check and its record can disagree when others use up the quota or delete the content in between. */
const ATTEMPTS = 3;

/** What the control plane has of these files, and which it will not take. */
export async function checkFiles(
  plane: SignedRequests,
  target: PushTarget,
  files: readonly IngestFile[],
  signal: AbortSignal,
): Promise<IngestCheckAnswer> {
  const { session, execution, taken } = target;
  const body = { session, execution, taken, files: files.map(described) };
  return IngestCheckAnswerSchema.parse(
    await plane.request(target, "POST", "/agent/artifacts/check", body, signal),
  );
}

/** More than this is not read before it was asked about: a file may have any size and take no room. */
export const ASKED_FIRST_BYTES = 32 * 1024 * 1024;
const UNKNOWN_HASH = "0".repeat(64);

/** Why a file of this size is not taken, whatever is in it. */
export async function refusalOf(
  plane: SignedRequests,
  target: PushTarget,
  file: Omit<IngestFile, "sha256">,
  signal: AbortSignal,
): Promise<IngestCheckAnswer["refused"][number] | undefined> {
  if (file.size <= ASKED_FIRST_BYTES) return undefined;
  return (await checkFiles(plane, target, [{ ...file, sha256: UNKNOWN_HASH }], signal)).refused[0];
}

/**
 * As many small files as one bundle holds, or a large one. With `known`, the answer for exactly these files, they are not asked about again
 * before the first attempt.
 */
export async function pushFiles(
  plane: SignedRequests,
  target: PushTarget,
  files: readonly PushFile[],
  signal: AbortSignal,
  untilAnswered: Upload["untilAnswered"] = (attempt) => attempt(),
  known: IngestCheckAnswer | null = null,
): Promise<Pushed> {
  const upload: Upload = { plane, target, signal, untilAnswered };
  const recorded = new Map<PushFile, Artifact>();
  const refused = new Map<PushFile, { reason: string; final: boolean }>();
  let left = [...files];
  for (let attempt = 0; attempt < ATTEMPTS && left.length > 0; attempt++) {
    const check = (attempt === 0 && known) || (await checkFiles(plane, target, left, signal));
    for (const { index, reason, final } of check.refused)
      if (left[index]) refused.set(left[index], { reason, final });
    const wanted = left.filter((file) => !refused.has(file));
    const missing = firstOfEach(wanted, new Set(check.unknown));
    const small = missing.filter((file) => Array.isArray(file.content));
    for (const file of missing)
      if (!Array.isArray(file.content)) await uploadLarge(upload, file, check.whole_bytes);
    for (const [file, artifact] of await record(plane, target, small, wanted, signal))
      recorded.set(file, artifact);
    left = wanted.filter((file) => !recorded.has(file));
  }
  for (const file of left) refused.set(file, { reason: "the control plane did not keep it", final: false });
  return { recorded, refused };
}

/** Small content travels with the request that records it. */
async function record(
  plane: SignedRequests,
  target: PushTarget,
  small: readonly PushFile[],
  files: readonly PushFile[],
  signal: AbortSignal,
): Promise<Map<PushFile, Artifact>> {
  const recorded = new Map<PushFile, Artifact>();
  if (files.length === 0) return recorded;
  const bundle = bundleOf(target, small, files);
  const answer = BundleAnswerSchema.parse(
    await plane.request(target, "PUT", "/agent/artifacts", bundle, signal),
  );
  for (const { index, artifact } of answer.recorded) if (files[index]) recorded.set(files[index], artifact);
  return recorded;
}

function bundleOf(
  { session, execution }: PushTarget,
  blobs: readonly PushFile[],
  files: readonly PushFile[],
): Buffer[] {
  const header = {
    session,
    execution,
    blobs: blobs.map(({ sha256, size }) => ({ sha256, size })),
    files: files.map(described),
  };
  return [
    Buffer.from(`${JSON.stringify(header)}\n`),
    ...blobs.flatMap(({ content }) => content as readonly Buffer[]),
  ];
}

const described = ({ name, size, sha256, mime, version }: IngestFile): IngestFile => ({
  name,
  size,
  sha256,
  mime,
  version,
});

function firstOfEach(files: readonly PushFile[], unknown: Set<string>): PushFile[] {
  return files.filter(({ sha256 }) => unknown.delete(sha256));
}
