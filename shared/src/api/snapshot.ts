/** @module Snapshots: files and variables of a session, kept outside of it. `docs/snapshots.md` has the format. */
import { z } from "zod";
import { idSchema } from "../ids.ts";
import { TTL_MAX_S } from "../limits.ts";
import { wellFormed } from "../text.ts";
import { EngineSchema } from "./engine.ts";
import { ContextReportSchema, LabelsSchema, LanguageSchema, SessionSchema } from "./session.ts";

const count = z.number().int().nonnegative();

export const SNAPSHOT_TTL_DEFAULT_S = 7 * 24 * 3600;
export const SNAPSHOT_TTL_MAX_S = 365 * 24 * 3600;
export const FORK_LIMIT = 16;

/** When code runs in a context: wait for its end, refuse, or copy the process where the language can. */
export const OnBusySchema = z.enum(["wait", "refuse", "fork"]);
export type OnBusy = z.infer<typeof OnBusySchema>;

export const SnapshotContextSchema = ContextReportSchema.extend({
  /** Null when its kernel had nothing to keep. */
  format: z.string().max(64).nullable(),
  size: count,
});
export type SnapshotContext = z.infer<typeof SnapshotContextSchema>;

export const SnapshotSchema = z.object({
  id: idSchema("snp"),
  /** SHA-256 of its manifest, which names the hash of everything else. */
  digest: z.string(),
  name: z.string().nullable(),
  session_id: z.string(),
  runtime: LanguageSchema,
  engine: EngineSchema,
  image: z.string().nullable(),
  size: count,
  files_bytes: count,
  /** What the tenant did not have before. */
  new_bytes: count,
  contexts: z.array(SnapshotContextSchema),
  created_at: z.string(),
  expires_at: z.string(),
});
export type Snapshot = z.infer<typeof SnapshotSchema>;

export const CreateSnapshotSchema = z.strictObject({
  name: wellFormed(z.string().min(1).max(128)).optional(),
  ttl_s: z.number().int().min(60).max(SNAPSHOT_TTL_MAX_S).optional(),
  on_busy: OnBusySchema.optional(),
});
export type CreateSnapshot = z.infer<typeof CreateSnapshotSchema>;

export const ForkSchema = z.strictObject({
  count: z.number().int().min(1).max(FORK_LIMIT).optional(),
  on_busy: OnBusySchema.optional(),
  labels: LabelsSchema.optional(),
  idle_ttl_s: z.number().int().min(1).max(TTL_MAX_S).optional(),
  max_lifetime_s: z.number().int().min(1).max(TTL_MAX_S).optional(),
});
export type Fork = z.infer<typeof ForkSchema>;
export const ForkedSchema = z.object({ data: z.array(SessionSchema) });
