/** @module What a tenant used, over time. */
import { z } from "zod";

export const SERIES_STEPS = [60, 3600, 86_400] as const;
/** Of one answer. */
export const SERIES_POINT_LIMIT = 2_000;

export const UsagePointSchema = z.object({
  /** The beginning of the step. */
  at: z.string(),
  /** That ended in it. */
  executions: z.number().int(),
  /** Of those, how many did not end well, by code. */
  errors: z.record(z.string(), z.number().int()),
  /** How long they ran, queueing left out, within 5 %; null when none ran. */
  p50_ms: z.number().nullable(),
  p95_ms: z.number().nullable(),
  artifacts: z.number().int(),
  artifact_bytes: z.number().int(),
  /** That sessions' network by name has carried, both ways. */
  egress_bytes: z.number().int(),
  sessions_created: z.number().int(),
  /** The most that lived at once. */
  sessions_peak: z.number().int(),
});
export type UsagePoint = z.infer<typeof UsagePointSchema>;

export const UsageSeriesSchema = z.object({
  tenant: z.string(),
  step_s: z.number().int(),
  data: z.array(UsagePointSchema),
});
export type UsageSeries = z.infer<typeof UsageSeriesSchema>;
