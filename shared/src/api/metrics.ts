/** @module What sessions use: samples that their hosts take every few seconds. */
import { z } from "zod";
import { idSchema } from "../ids.ts";

/** How often a host looks at its sessions, and how many samples it keeps of each: about ten minutes. */
export const SAMPLE_INTERVAL_MS = 5_000;
export const SAMPLE_LIMIT = 120;
/** Of each session, where all of them are in one answer. */
export const SHORT_SAMPLE_LIMIT = 30;

export const SampleSchema = z.object({
  at: z.string(),
  /** Since the sample before; 100 is one core. */
  cpu_percent: z.number(),
  /** Without the page cache, as `docker stats` has it; files in memory count. */
  memory_bytes: z.number().int(),
  processes: z.number().int(),
  /** In /session, /tmp and /dev/shm; null for a folder of the host, which is not counted. */
  disk_bytes: z.number().int().nullable(),
});
export type Sample = z.infer<typeof SampleSchema>;

export const SessionMetricsSchema = z.object({
  /** The oldest first; the last one is of now. */
  data: z.array(SampleSchema),
  interval_ms: z.number().int(),
  limits: z.object({
    cpus: z.number(),
    memory_bytes: z.number().int(),
    pids: z.number().int(),
    disk_bytes: z.number().int().nullable(),
  }),
});
export type SessionMetrics = z.infer<typeof SessionMetricsSchema>;

export const AllSessionMetricsSchema = z.object({
  data: z.array(z.object({ session: idSchema("ses"), samples: z.array(SampleSchema) })),
  interval_ms: z.number().int(),
});
export type AllSessionMetrics = z.infer<typeof AllSessionMetricsSchema>;
