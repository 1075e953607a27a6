/**
 * The wire by which a daemon brings artifacts to the control plane: HTTP, each request signed with the host's key.
 * `docs/design/artifacts.md` says in which order.
 *
 * @module
 */
import { z } from "zod";
import { ArtifactSchema } from "../api/artifact.ts";

export const DigestSchema = z.string().regex(/^[0-9a-f]{64}$/, "must be a SHA-256 in lowercase hex");

/** Files up to this size travel together, many in one request; the others each in requests of their own. */
export const SMALL_BLOB_BYTES = 2 * 1024 * 1024;
/** What such a request may carry. */
export const BUNDLE_BYTES = 8 * 1024 * 1024;
export const BUNDLE_BLOBS = 500;
/** R2 wants parts of one size, of at least 5 MiB, except for the last. */
export const PART_BYTES = 32 * 1024 * 1024;
export const INGEST_FILES_LIMIT = 10_000;

export const IngestFileSchema = z.object({
  name: z.string().min(1).max(4096),
  size: z.number().int().nonnegative(),
  sha256: DigestSchema,
  mime: z.string().min(1).max(128),
  /** Tells a file that was recorded, and whose removal failed, from the same bytes written anew. */
  version: z.string().min(1).max(64),
});
export type IngestFile = z.infer<typeof IngestFileSchema>;

const target = { session: z.string().max(64), execution: z.string().max(64).nullable() };

export const IngestCheckSchema = z.object({
  ...target,
  /** How many files of this ingestion were taken by earlier requests. */
  taken: z.number().int().nonnegative().default(0),
  files: z.array(IngestFileSchema).max(INGEST_FILES_LIMIT),
});

export const IngestCheckAnswerSchema = z.object({
  /** Content that the tenant does not have yet. */
  unknown: z.array(DigestSchema),
  /** Content up to this size may come in one request, larger content comes in parts. */
  whole_bytes: z.number().int().nonnegative(),
  /** Positions in `files`, and why they cannot be kept. `final`: asking again for the same file is pointless. */
  refused: z.array(z.object({ index: z.number().int(), reason: z.string(), final: z.boolean() })),
});
export type IngestCheckAnswer = z.infer<typeof IngestCheckAnswerSchema>;

/** The first line of a bundle; the blobs' bytes follow in this order. */
export const BundleHeaderSchema = z.object({
  ...target,
  blobs: z.array(z.object({ sha256: DigestSchema, size: z.number().int().nonnegative() })).max(BUNDLE_BLOBS),
  /** What is to be recorded once these blobs are stored. */
  files: z.array(IngestFileSchema).max(INGEST_FILES_LIMIT),
});
export type BundleHeader = z.infer<typeof BundleHeaderSchema>;

export const BundleAnswerSchema = z.object({
  /** Positions in `files`, and what was recorded for them; one that is missing must be checked again. */
  recorded: z.array(z.object({ index: z.number().int(), artifact: ArtifactSchema })),
});
export type BundleAnswer = z.infer<typeof BundleAnswerSchema>;

export const StartUploadSchema = z.object({
  session: z.string().max(64),
  sha256: DigestSchema,
  size: z.number().int().positive(),
});
export const StartUploadAnswerSchema = z.object({
  upload: z.string(),
  key: z.string(),
  part_bytes: z.number().int().positive(),
  /** Where each part goes, straight into R2; null: through the Worker. */
  urls: z.array(z.string()).nullable(),
});
export type StartUploadAnswer = z.infer<typeof StartUploadAnswerSchema>;

export const FinishUploadSchema = StartUploadSchema.extend({
  upload: z.string(),
  key: z.string(),
  parts: z.array(z.object({ part: z.number().int().positive(), etag: z.string().max(256) })).max(10_000),
});
