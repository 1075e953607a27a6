/** @module Datasets of a session: ids, files, and what the API and the hosts say about them. */
import { z } from "zod";
import { ErrorCodeSchema } from "../errors.ts";
import { wellFormed } from "../text.ts";
import { DatasetAccessSchema } from "./session.ts";

export const DATASET_FOLDER = "/session/data";
export const DATASET_ID_LIMIT = 200;

/** An id with one of these endings is a file's name already; anything else behind a dot may be a version. */
const EXTENSIONS =
  /\.(parquet|csv|tsv|jsonl?|ndjson|feather|arrow|ipc|avro|orc|xlsx?|txt|xml|ya?ml|h5|hdf5|npy|npz|pkl|db|sqlite3?|duckdb|zip|tar)(\.(gz|zst|bz2|xz))?$/i;

export const DatasetIdSchema = z
  .string()
  .min(1)
  .max(DATASET_ID_LIMIT)
  .regex(
    /^[A-Za-z0-9_][A-Za-z0-9._-]*$/,
    "must be letters, digits, '.', '_' and '-', not starting with '.' or '-'",
  )
  .refine((id) => !id.includes(".."), "must not contain '..'");

export const DatasetFormatSchema = z
  .string()
  .regex(/^[a-z0-9]{1,12}(\.[a-z0-9]{1,8})?$/, "must be a file extension without its dot");

/** The file's name below /session/data. */
export function datasetFile(id: string, format?: string): string {
  if (format) return id.endsWith(`.${format}`) ? id : `${id}.${format}`;
  return EXTENSIONS.test(id) ? id : `${id}.parquet`;
}

/** `sales_20261116T051500Z.parquet` */
export function datasetExportName(file: string, time: Date): string {
  const stamp = `${time.toISOString().slice(0, 19).replace(/[-:]/g, "")}Z`;
  const extension = EXTENSIONS.exec(file)?.[0] ?? /\.[^.]*$/.exec(file)?.[0] ?? "";
  return `${file.slice(0, file.length - extension.length)}_${stamp}${extension}`;
}

export const Sha256Schema = z
  .string()
  .regex(/^[0-9a-fA-F]{64}$/, "must be 64 hexadecimal digits")
  .transform((hash) => hash.toLowerCase());

export const DatasetVersionSchema = wellFormed(z.string().min(1).max(256)).refine(
  // In a source's path it would lead somewhere else, encoded or not.
  (version) => !/^\.+$/.test(version),
  "must not be dots only",
);

const size = z.number().int().nonnegative();

export const DatasetSchema = z.object({
  id: z.string(),
  status: z.enum(["PENDING", "LOADED", "FAILED"]),
  path: z.string(),
  size: size.nullable(),
  /** Of the bytes that were staged. */
  sha256: z.string().nullable(),
  version: z.string().nullable(),
  mtime: z.string().nullable(),
  /** The session's code has changed the file since. */
  modified: z.boolean().optional(),
  /** Why it failed; of a LOADED one, why its latest replacement failed. */
  error: z.object({ code: ErrorCodeSchema, detail: z.string() }).optional(),
});
export type Dataset = z.infer<typeof DatasetSchema>;

export const DatasetListSchema = z.object({
  access: DatasetAccessSchema,
  data: z.array(DatasetSchema),
  message: z.string().optional(),
});

export const StageDatasetSchema = z
  .strictObject({
    id: DatasetIdSchema,
    /** A registered source; the only one when there is only one. */
    source: z.string().max(64).optional(),
    artifact_id: z.string().max(64).optional(),
    sha256: Sha256Schema.optional(),
    version: DatasetVersionSchema.optional(),
    format: DatasetFormatSchema.optional(),
    /** Fetch it again even when it is loaded. */
    refresh: z.boolean().optional(),
  })
  .refine(({ source, artifact_id }) => !(source && artifact_id), {
    message: "give source or artifact_id, not both",
    path: ["artifact_id"],
  });

/** What a host needs in order to fetch from a source. Sent to the daemon only, and kept in its memory only. */
export const DatasetFetchSchema = z.object({
  url: z.string(),
  headers: z.record(z.string(), z.string()),
  redirect_origins: z.array(z.string()),
  allow_private: z.boolean(),
  timeout_s: z.number(),
});
export type DatasetFetch = z.infer<typeof DatasetFetchSchema>;

/** The question `datasets.stage`. Without `fetch` and `grant` only the host's cache can answer it. */
export const DatasetStageCallSchema = z.object({
  id: z.string(),
  file: z.string(),
  /** Where the bytes come from; the same one again is the same dataset. */
  origin: z.string(),
  sha256: z.string().nullable(),
  version: z.string().nullable(),
  refresh: z.boolean(),
  wait: z.boolean(),
  max_bytes: size,
  fetch: DatasetFetchSchema.optional(),
  grant: z.string().optional(),
});
export type DatasetStageCall = z.infer<typeof DatasetStageCallSchema>;

/** `null`: the host does not have these bytes. */
export const DatasetStageAnswerSchema = z.object({ dataset: DatasetSchema.nullable(), fresh: z.boolean() });
export type DatasetStageAnswer = z.infer<typeof DatasetStageAnswerSchema>;
