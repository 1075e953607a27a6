/** @module What Hono handlers find in their context. */
import type { HostClaim } from "./artifacts/host-auth.ts";
import type { Caller } from "./auth.ts";
import type { Env } from "./env.ts";

export interface AppEnv {
  Bindings: Env;
  Variables: { requestId: string; caller: Caller; host: HostClaim };
}
