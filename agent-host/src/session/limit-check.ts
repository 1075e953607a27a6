/** @module Whether this host allows what a session asks for. The control plane looks first; it may know an older host. */
import { type Limits, limitRefusal, SandbarError, type SessionSpec } from "@sandbar/shared";
import type { Config } from "../host/config.ts";

export function checkLimits(
  { maxima }: Pick<Config, "maxima">,
  { limits }: { limits: SessionSpec["limits"] },
): void {
  const refusal = limitRefusal(limits, maxima as Limits);
  if (refusal) throw new SandbarError("LIMIT_EXCEEDED", refusal);
}
