/** @module Questions about this host's volumes, which belong to no session. */
import { SandbarError } from "@sandbar/shared";
import { z } from "zod";
import type { Volumes } from "./volumes.ts";

const SizesSchema = z.object({ tenant: z.string() });
const RemoveSchema = z.object({ tenant: z.string(), name: z.string() });

export class VolumeCalls {
  readonly #volumes: Volumes;

  constructor(volumes: Volumes) {
    this.#volumes = volumes;
  }

  /** Undefined for a method that is not about volumes. */
  handle(method: string, params: unknown): Promise<unknown> | undefined {
    if (method === "volumes.sizes") return this.#volumes.sizes(parse(SizesSchema, params).tenant);
    if (method === "volumes.remove") {
      const { tenant, name } = parse(RemoveSchema, params);
      return this.#volumes.remove(tenant, name);
    }
    return undefined;
  }
}

function parse<T extends z.ZodType>(schema: T, params: unknown): z.infer<T> {
  const parsed = schema.safeParse(params);
  if (!parsed.success) throw new SandbarError("VALIDATION_FAILED", "not the parameters of this question");
  return parsed.data;
}
