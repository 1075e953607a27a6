/** @module What a host's object leaves in the audit log. */
import { audit } from "../audit/audited.ts";
import type { Env } from "../env.ts";

/** From where a daemon dials, told to its host's object by the Worker; nobody else can reach that. */
export const ADDRESS_HEADER = "X-Sandbar-Address";

export interface HostDeed {
  readonly action: string;
  readonly result?: string;
  readonly address?: string | null;
  readonly detail?: string;
}

export function auditHost(
  { DB }: Env,
  host: string,
  { action, result = "ok", address, detail }: HostDeed,
): void {
  const facts = {
    tenant: null,
    key_id: null,
    token_id: null,
    via: "host" as const,
    address: address ?? null,
    action,
    target: host,
    result,
    request_id: null,
    detail: detail ?? null,
  };
  audit(DB, facts, result === "ok");
}
