/** @module Questions about this host's volumes, which belong to no session. */
import type { CallHandlers, MethodsOf } from "@sandbar/shared";
import type { HostVolumes } from "./engine.ts";

export const volumeCalls = (volumes: HostVolumes | null): CallHandlers<MethodsOf<"volumes">, []> => ({
  "volumes.sizes": async ({ tenant }) => (await volumes?.sizes(tenant)) ?? {},
  "volumes.remove": async ({ tenant, name }) => (await volumes?.remove(tenant, name)) ?? false,
});
