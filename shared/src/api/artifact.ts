/** @module The Artifact descriptor. */
import { z } from "zod";

export const ArtifactSchema = z.object({
  id: z.string(),
  session_id: z.string(),
  execution_id: z.string().nullable(),
  name: z.string(),
  size: z.number().int().nonnegative(),
  mime: z.string(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  created_at: z.string(),
  expires_at: z.string().nullable().optional(),
  url: z.string(),
});
export type Artifact = z.infer<typeof ArtifactSchema>;
