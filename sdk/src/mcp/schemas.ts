/** @module What the MCP tools take and give. Records of the API stay open: it may add fields, and clients check. */
import { EngineChoiceSchema, LanguageSchema, NetworkSchema, StorageSchema } from "@sandbar/shared";
import { z } from "zod";

export const SessionId = z.string().describe("The session's id, from create_session.");
export const TimeoutS = z
  .number()
  .positive()
  .max(86_400)
  .optional()
  .describe(
    "Time limit in seconds (default: the session's, 30). The code is interrupted then; variables stay.",
  );

export const CreateSessionInput = z.object({
  key: z.string().min(1).max(256).optional().describe("The same key gives the same session again."),
  snapshot_id: z
    .string()
    .optional()
    .describe("Begins with the files and variables of this snapshot, from snapshot_session."),
  runtime: LanguageSchema.optional().describe("Default python."),
  engine: EngineChoiceSchema.optional().describe(
    "Default any: a container, or where there is none Python in WebAssembly, without shell, processes and threads.",
  ),
  storage: StorageSchema.optional(),
  datasets: z.enum(["NONE", "LOCAL_RO", "API"]).optional().describe("Access to datasets; default NONE."),
  network: NetworkSchema.optional().describe(
    'Default none: no internet. {"allow": ["files.example.org", "*.example.com:443"]}: only what is named there.',
  ),
  dependencies: z
    .record(z.string(), z.string())
    .optional()
    .describe("Packages to install: {name: version}; an empty version means the newest."),
  timeout_s: TimeoutS,
});

export const SessionOutput = z.looseObject({
  session_id: z.string(),
  key: z.string(),
  runtime: z.string(),
  engine: z.string().optional(),
  languages: z.array(z.string()).optional(),
  capabilities: z.array(z.string()).optional(),
  status: z.string(),
  network: z.union([z.string(), z.looseObject({ allow: z.array(z.string()) })]),
  datasets: z.string(),
  expires_at: z.string().nullable(),
});

export const ArtifactOutput = z.looseObject({
  id: z.string(),
  name: z.string(),
  size: z.number(),
  mime: z.string(),
  sha256: z.string(),
  session_id: z.string(),
  created_at: z.string(),
  url: z.string(),
});

export const ImportInput = z.object({
  session_id: SessionId,
  files: z
    .array(
      z.object({
        destination: z.string().describe("Path in the session; relative paths start at /session."),
        content: z.string().optional(),
        encoding: z.enum(["utf8", "base64"]).optional().describe("Of content; default utf8."),
        artifact_id: z.string().optional().describe("An artifact to bring back."),
        from_session_id: z.string().optional().describe("Another session to copy from, with path."),
        path: z.string().optional().describe("The path in that session."),
        source: z.string().optional().describe("A path on the host, where the operator allows it."),
      }),
    )
    .min(1)
    .max(100),
});

export const ImportOutput = z.looseObject({
  files: z.array(
    z.looseObject({
      destination: z.string(),
      ok: z.boolean(),
      size: z.number().optional(),
      error: z.unknown().optional(),
    }),
  ),
});

export const ExportInput = z.object({
  session_id: SessionId,
  files: z
    .array(z.object({ source: z.string(), name: z.string().optional() }))
    .min(1)
    .max(100),
});

export const ExportOutput = z.looseObject({
  files: z.array(
    z.looseObject({
      source: z.string(),
      ok: z.boolean(),
      artifact: ArtifactOutput.optional(),
      error: z.unknown().optional(),
    }),
  ),
});

export const DatasetOutput = z.looseObject({
  id: z.string(),
  status: z.string(),
  path: z.string(),
  size: z.number().nullable(),
  version: z.string().nullable(),
});
