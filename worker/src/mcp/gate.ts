/**
 * Who may speak to `/mcp`: a page of another site must not, however its name resolves. Names can be pointed at this
 * machine by whoever owns them (DNS rebinding); addresses and `localhost` cannot, and over TLS the certificate proves
 * the name.
 *
 * @module
 */
import { SandbarError } from "@sandbar/shared";

export interface GateSettings {
  /** Host names, separated by commas, under which plain HTTP is served too. */
  MCP_ALLOWED_HOSTS?: string;
  /** Origins of pages on other sites, separated by commas. */
  MCP_ALLOWED_ORIGINS?: string;
}

const ADDRESS = /^(\d{1,3}(\.\d{1,3}){3}|\[[0-9a-f:.]+\])$/i;

/** The origin to allow in the answer, if a page asked; throws when the request must be refused. */
export function admitted(request: Request, settings: GateSettings): string | null {
  const url = new URL(request.url);
  if (!hostAllowed(url, request.headers.get("Host"), listed(settings.MCP_ALLOWED_HOSTS)))
    throw new SandbarError(
      "HOST_NAME_NOT_ALLOWED",
      `The host name ${(request.headers.get("Host") ?? url.host).slice(0, 200)} is not in MCP_ALLOWED_HOSTS`,
    );
  const origin = request.headers.get("Origin");
  if (origin === null) return null;
  if (origin !== url.origin && !listed(settings.MCP_ALLOWED_ORIGINS).includes(origin.toLowerCase()))
    throw new SandbarError(
      "ORIGIN_NOT_ALLOWED",
      `The origin ${origin.slice(0, 200)} is not in MCP_ALLOWED_ORIGINS`,
    );
  return origin;
}

function hostAllowed(url: URL, header: string | null, allowed: string[]): boolean {
  if (header !== null && header.toLowerCase() !== url.host) return false;
  const name = url.hostname;
  if (allowed.includes(name) || allowed.includes(url.host)) return true;
  return name === "localhost" || ADDRESS.test(name) || (url.protocol === "https:" && allowed.length === 0);
}

const listed = (value = "") =>
  value
    .split(",")
    .map((item) => item.trim().toLowerCase())
    .filter(Boolean);
