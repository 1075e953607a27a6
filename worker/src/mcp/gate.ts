/** @module Which pages may speak to `/mcp`: its own origin's, and those that the operator lists. */
import { SandbarError } from "@sandbar/shared";
import { listed, type NameSettings, requireKnownName } from "../host-name.ts";

export interface GateSettings extends NameSettings {
  /** Origins of pages on other sites, separated by commas. */
  MCP_ALLOWED_ORIGINS?: string;
}

/** The origin to allow in the answer, if a page asked; throws when the request must be refused. */
export function admitted(request: Request, settings: GateSettings): string | null {
  requireKnownName(request, settings);
  const url = new URL(request.url);
  const origin = request.headers.get("Origin");
  if (origin === null) return null;
  if (origin !== url.origin && !listed(settings.MCP_ALLOWED_ORIGINS).includes(origin.toLowerCase()))
    throw new SandbarError(
      "ORIGIN_NOT_ALLOWED",
      `The origin ${origin.slice(0, 200)} is not in MCP_ALLOWED_ORIGINS`,
    );
  return origin;
}
