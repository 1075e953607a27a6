/**
 * A snapshot's manifest, and the wire by which a daemon brings its chunks to the control plane and takes them back:
 * HTTP, each request signed with the host's key. `docs/snapshots.md` has the format for people.
 *
 * @module
 */
import { z } from "zod";
import { EngineSchema } from "../api/engine.ts";
import { ContextRefSchema } from "../api/execution.ts";
import { NetworkSchema } from "../api/network.ts";
import { DatasetAccessSchema, LanguageSchema, LimitsSchema, StorageSchema } from "../api/session.ts";
import { SnapshotVariableSchema } from "../api/snapshot-report.ts";
import { CONTEXT_LIMIT } from "../limits.ts";
import { DigestSchema } from "./ingest.ts";

export const SNAPSHOT_FORMAT = "sandbar-snapshot/1";

export const CHUNK_MIN_BYTES = 256 * 1024;
export const CHUNK_AVERAGE_BYTES = 1024 * 1024;
export const CHUNK_MAX_BYTES = 4 * 1024 * 1024;
/** Of one snapshot; with an average chunk that is 16 GiB. */
export const SNAPSHOT_CHUNK_LIMIT = 16_384;
export const MANIFEST_LIMIT_BYTES = 4 * 1024 * 1024;
/** What one request may carry or ask for. */
export const CHUNK_BATCH_BYTES = 8 * 1024 * 1024;
export const CHUNK_BATCH = 64;
/** Of one context's variables, those that a manifest names. */
export const MANIFEST_VARIABLES = 2_000;

const count = z.number().int().nonnegative();

/** Its SHA-256 and its length. */
export const ChunkSchema = z.tuple([DigestSchema, z.number().int().positive().max(CHUNK_MAX_BYTES)]);
export type Chunk = z.infer<typeof ChunkSchema>;

const StreamSchema = z.object({ size: count, chunks: z.array(ChunkSchema).max(SNAPSHOT_CHUNK_LIMIT) });
export type ChunkedStream = z.infer<typeof StreamSchema>;

export const ManifestSchema = z.object({
  format: z.literal(SNAPSHOT_FORMAT),
  session: z.object({
    runtime: LanguageSchema,
    engine: EngineSchema,
    image: z.string().nullable(),
    /** What `image` or its absence meant on the host. */
    image_used: z.string().nullable(),
    languages: z.array(LanguageSchema),
    storage: StorageSchema,
    dataset_access: DatasetAccessSchema,
    network: NetworkSchema,
    limits: LimitsSchema,
    dependencies: z.record(z.string(), z.string()),
    env: z.record(z.string(), z.string()),
  }),
  contexts: z
    .array(
      z.object({
        name: ContextRefSchema,
        language: LanguageSchema,
        /** Of the state; null when there is none. */
        format: z.string().max(64).nullable(),
        state: StreamSchema,
        variables: z.array(SnapshotVariableSchema).max(MANIFEST_VARIABLES),
        /** Variables that are not named here. */
        more: count,
      }),
    )
    .max(CONTEXT_LIMIT),
  /** A tar archive of /session. */
  files: StreamSchema,
});
export type Manifest = z.infer<typeof ManifestSchema>;

/** Every chunk of it, each once. */
export function chunksOf({ contexts, files }: Pick<Manifest, "contexts" | "files">): Chunk[] {
  const all = new Map<string, Chunk>();
  for (const { chunks } of [files, ...contexts.map(({ state }) => state)])
    for (const chunk of chunks) all.set(chunk[0], chunk);
  return [...all.values()];
}

const target = { session: z.string().max(64), snapshot: z.string().max(64) };
const batch = { ...target, chunks: z.array(ChunkSchema).max(CHUNK_BATCH) };

/** Those that the tenant has are kept for this snapshot from now on. */
export const ChunkCheckSchema = z.object(batch);
export const ChunkCheckAnswerSchema = z.object({ missing: z.array(DigestSchema) });
/** The first line of a body; the chunks' bytes follow in this order. */
export const ChunkBundleSchema = z.object(batch);
/** The first line of a body; the manifest follows. */
export const ManifestHeaderSchema = z.object({ ...target, sha256: DigestSchema });
/** Answered with the chunks' bytes, one after another. */
export const ChunkReadSchema = z.object({
  ...target,
  chunks: z.array(DigestSchema).min(1).max(CHUNK_BATCH),
});
export type ChunkRead = z.infer<typeof ChunkReadSchema>;
/** One whose bytes were not those that it is named after. */
export const ChunkDamagedSchema = z.object({ ...target, sha256: DigestSchema });
export const ChunkDamagedAnswerSchema = z.object({ damaged: z.boolean() });
