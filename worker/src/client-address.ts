/** @module From where a request came, as far as that can be known. */
import type { Env } from "./env.ts";

/**
 * On Cloudflare its own header, on one machine workerd's word for the connection's other end. Behind a proxy that is
 * the proxy, so CLIENT_ADDRESS_HEADER names the header in which it tells; of a list the last one counts, which the
 * proxy has added itself.
 */
export function clientAddress(
  { CLIENT_ADDRESS_HEADER, INNER }: Pick<Env, "CLIENT_ADDRESS_HEADER" | "INNER">,
  request: Request,
): string | null {
  if (INNER) return INNER.address;
  const told = CLIENT_ADDRESS_HEADER && request.headers.get(CLIENT_ADDRESS_HEADER)?.split(",").at(-1)?.trim();
  if (told) return told.slice(0, 64);
  const peer = (request.cf as { clientIp?: unknown } | undefined)?.clientIp;
  const address = typeof peer === "string" ? withoutPort(peer) : request.headers.get("CF-Connecting-IP");
  return address ? address.slice(0, 64) : null;
}

/** workerd says `127.0.0.1:4711` and `[::1]:4711`. */
function withoutPort(address: string): string {
  return /^\[(.*)\](:\d+)?$/.exec(address)?.[1] ?? address.replace(/^([^:]*):\d+$/, "$1");
}
