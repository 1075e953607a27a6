/** @module Of which HTTP request something is done: for logs, and for traces where those are wanted. */
import { z } from "zod";

export const CauseSchema = z.object({
  /** Its `X-Request-Id`. */
  request: z.string().max(64),
  /** W3C trace context; only while traces are exported and this one is sampled. */
  traceparent: z.string().max(64).optional(),
});
export type Cause = z.infer<typeof CauseSchema>;
