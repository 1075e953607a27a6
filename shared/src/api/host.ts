/** @module The Host resource. */
import { z } from "zod";
import { LanguageSchema } from "./session.ts";

export const CapacitySchema = z.object({
  max_sessions: z.number().int().nonnegative(),
  memory_mb: z.number().int().nonnegative(),
  cpus: z.number().nonnegative(),
  /** Image names (`python`, `node`, `r`) that stand ready on this host. */
  runtimes: z.array(LanguageSchema),
  default_limits: z.record(z.string(), z.number()).optional(),
});
export type Capacity = z.infer<typeof CapacitySchema>;

export const HostStatusSchema = z.enum(["joining", "online", "unreachable", "lost"]);
export const HostSchema = z.object({
  id: z.string(),
  name: z.string(),
  status: HostStatusSchema,
  cordoned: z.boolean(),
  sessions: z.number().int(),
  /** Of its capacity's memory, what its sessions may use. */
  memory_reserved_mb: z.number().int(),
  capacity: CapacitySchema.nullable(),
  version: z.string().nullable(),
  epoch: z.number().int(),
  joined_at: z.string(),
  last_seen_at: z.string().nullable(),
});
export type Host = z.infer<typeof HostSchema>;
