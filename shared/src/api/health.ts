/** @module What `/healthz?deep` says. */
import { z } from "zod";

export const HEALTH_CHECKS = ["database", "storage", "objects", "hosts"] as const;
export type HealthCheck = (typeof HEALTH_CHECKS)[number];

const result = z.enum(["ok", "failing"]);

export const DeepHealthSchema = z.object({
  status: result,
  /** `hosts`: at least one of them is linked. */
  checks: z.object({ database: result, storage: result, objects: result, hosts: result }),
});
export type DeepHealth = z.infer<typeof DeepHealthSchema>;
