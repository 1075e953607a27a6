/** @module The Host resource. */
import { z } from "zod";
import { CapabilitySchema, EngineSchema, IsolationSchema } from "./engine.ts";
import { LanguageSchema } from "./session.ts";

/** What one engine of a host has ready, and can do there. */
export const EngineOfferSchema = z.object({
  engine: EngineSchema,
  runtimes: z.array(LanguageSchema),
  capabilities: z.array(CapabilitySchema),
  /** Of containers: what their OCI runtime makes of them; `container` where nothing is said. */
  isolation: IsolationSchema.optional(),
});
export type EngineOffer = z.infer<typeof EngineOfferSchema>;

export const CapacitySchema = z.object({
  max_sessions: z.number().int().nonnegative(),
  memory_mb: z.number().int().nonnegative(),
  cpus: z.number().nonnegative(),
  /** Image names (`python`, `node`, `r`) that stand ready on this host. */
  runtimes: z.array(LanguageSchema),
  /** Missing from older daemons, whose sessions are containers. */
  engines: z.array(EngineOfferSchema).max(8).optional(),
  default_limits: z.record(z.string(), z.number()).optional(),
  /** Why it takes no new sessions now, such as a disk that is nearly full. */
  refuses: z.string().max(500).optional(),
});
export type Capacity = z.infer<typeof CapacitySchema>;

const bytes = z.number().int().nonnegative();

/** How busy a host is, asked of the host itself. */
export const HostLoadSchema = z.object({
  /** Processes that run or want to, on average over the last 1, 5 and 15 minutes. */
  load_average: z.tuple([z.number(), z.number(), z.number()]),
  memory_bytes: bytes,
  memory_available_bytes: bytes,
  /** Of the disk that holds the host's own files. */
  disk_bytes: bytes,
  disk_available_bytes: bytes,
  /** Warm sandboxes by the language of their kernel: those that a session could have at once, and how many there should be. */
  pool: z.array(
    z.object({
      runtime: LanguageSchema,
      ready: z.number().int().nonnegative(),
      wanted: z.number().int().nonnegative(),
    }),
  ),
});
export type HostLoad = z.infer<typeof HostLoadSchema>;

export const HostStatusSchema = z.enum(["joining", "online", "unreachable", "lost"]);

/** How far the drain is that was asked for last; uncordoning the host ends it. */
export const HostDrainSchema = z.object({
  state: z.enum(["draining", "drained"]),
  /** Those that were there when it began. */
  sessions: z.number().int().nonnegative(),
  left: z.number().int().nonnegative(),
  began_at: z.string(),
});
export type HostDrain = z.infer<typeof HostDrainSchema>;

export const HostSchema = z.object({
  id: z.string(),
  name: z.string(),
  status: HostStatusSchema,
  cordoned: z.boolean(),
  drain: HostDrainSchema.nullable(),
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
