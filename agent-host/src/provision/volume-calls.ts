/** @module Questions about this host's volumes, which belong to no session. */
import type { CallHandlers, MethodsOf } from "@sandbar/shared";
import type { Volumes } from "./volumes.ts";

export const volumeCalls = (volumes: Volumes): CallHandlers<MethodsOf<"volumes">, []> => ({
  "volumes.sizes": ({ tenant }) => volumes.sizes(tenant),
  "volumes.remove": ({ tenant, name }) => volumes.remove(tenant, name),
});
