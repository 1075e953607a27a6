/** @module Files of a session as artifacts, on request. */
import { z } from "zod";
import { wellFormed } from "../text.ts";
import { ArtifactSchema } from "./artifact.ts";

export const EXPORT_FILES_LIMIT = 100;

export const ExportRequestSchema = z.strictObject({
  files: z
    .array(
      z.strictObject({
        source: wellFormed(z.string().min(1).max(4096)),
        /** Of the artifact; the source's last part unless given, with `.tar` for a folder. */
        name: wellFormed(z.string().min(1).max(4096)).optional(),
      }),
    )
    .min(1)
    .max(EXPORT_FILES_LIMIT),
});
export type ExportFile = z.infer<typeof ExportRequestSchema>["files"][number];

export const ExportResultSchema = z.object({
  source: z.string(),
  ok: z.boolean(),
  artifact: ArtifactSchema.optional(),
  error: z.object({ code: z.string(), detail: z.string() }).optional(),
});
export type ExportResult = z.infer<typeof ExportResultSchema>;
