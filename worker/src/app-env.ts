/** @module What Hono handlers find in their context. */
import type { Cause, ErrorCode } from "@sandbar/shared";
import type { HostClaim } from "./artifacts/host-auth.ts";
import type { AuditNote } from "./audit/audited.ts";
import type { Caller } from "./auth.ts";
import type { Env } from "./env.ts";

export interface AppEnv {
  Bindings: Env;
  Variables: {
    requestId: string;
    /** The same for what the request sets in motion. */
    cause: Cause;
    caller: Caller;
    host: HostClaim;
    /** With what the request was refused, if it was. */
    refusal?: ErrorCode;
    audit?: AuditNote;
  };
}
