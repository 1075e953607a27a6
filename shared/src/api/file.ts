/** @module Files of a session as the API shows them, and what moves bytes between them. */
import { z } from "zod";

export const FileTypeSchema = z.enum(["file", "directory", "symlink", "fifo", "socket", "device"]);

const size = z.number().int().nonnegative();
const base64 = z.string().describe("The bytes of a name that is not UTF-8, in base64");

export const FileEntrySchema = z.object({
  path: z.string(),
  path_b64: base64.optional(),
  name: z.string(),
  type: FileTypeSchema,
  size,
  /** Permission bits. */
  mode: size,
  mtime: z.iso.datetime(),
  /** Changes whenever the content may have. */
  etag: z.string(),
  /** Where a symlink points. */
  target: z.string().optional(),
  target_b64: base64.optional(),
});
export type FileEntry = z.infer<typeof FileEntrySchema>;

/** What opening a file or folder for reading found. */
export const OpenedFileSchema = z.object({
  type: z.enum(["file", "directory"]),
  size,
  offset: size,
  length: size,
  mtime: z.iso.datetime(),
  etag: z.string(),
  unsatisfiable: z.boolean(),
  /** It still has the etag that the caller knows: nothing is sent. */
  not_modified: z.boolean(),
});
export type OpenedFile = z.infer<typeof OpenedFileSchema>;

export const WrittenFileSchema = z.object({
  size,
  sha256: z.string().length(64),
  /** Of a file. */
  etag: z.string().optional(),
  /** Of an archive: how many entries it had. */
  entries: size.optional(),
});
export type WrittenFile = z.infer<typeof WrittenFileSchema>;

export const FileChangeSchema = z.object({
  /** `overflow`: so much changed that some of it was not told; list again. */
  type: z.enum(["created", "modified", "deleted", "overflow"]),
  /** Below the watched folder. */
  path: z.string().max(8192),
  path_b64: z.string().max(8192).optional(),
  directory: z.boolean(),
});
export type FileChange = z.infer<typeof FileChangeSchema>;

export const IMPORT_FILES_LIMIT = 100;

const destination = z.string().min(1).max(4096);

export const ImportFileSchema = z.union(
  [
    z.strictObject({
      destination,
      content: z.string(),
      encoding: z.enum(["utf8", "utf-8", "text", "base64"]).default("utf8"),
    }),
    z.strictObject({ destination, session_id: z.string(), path: z.string().min(1).max(4096) }),
    z.strictObject({ destination, artifact_id: z.string() }),
    z.strictObject({ destination, source: z.string().min(1).max(4096) }),
  ],
  {
    error:
      "must have a destination and one of content (with encoding utf8 or base64), session_id and path, artifact_id, source",
  },
);
export type ImportFile = z.infer<typeof ImportFileSchema>;

export const ImportRequestSchema = z.strictObject({
  files: z.array(ImportFileSchema).min(1).max(IMPORT_FILES_LIMIT),
});

export const ImportResultSchema = z.object({
  destination: z.string(),
  ok: z.boolean(),
  size: size.optional(),
  sha256: z.string().optional(),
  error: z.object({ code: z.string(), detail: z.string() }).optional(),
});
export type ImportResult = z.infer<typeof ImportResultSchema>;
