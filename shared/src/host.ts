/** @module The Host resource. */
import { z } from "zod";
import { CapacitySchema } from "./frames.ts";

export const HostStatusSchema = z.enum(["joining", "online", "unreachable", "lost"]);
export const HostSchema = z.object({
  id: z.string(),
  name: z.string(),
  status: HostStatusSchema,
  cordoned: z.boolean(),
  sessions: z.number().int(),
  capacity: CapacitySchema.nullable(),
  version: z.string().nullable(),
  epoch: z.number().int(),
  joined_at: z.string(),
  last_seen_at: z.string().nullable(),
});
export type Host = z.infer<typeof HostSchema>;
