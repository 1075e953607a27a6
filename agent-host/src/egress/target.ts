/** @module What a request to the proxy asks for, read as a URL would be: one spelling for each name and address. */

export interface Target {
  /** In lower case, without the root's dot; an IPv6 address in brackets. */
  readonly host: string;
  readonly port: number;
}

const NAME_LIMIT_CHARS = 253;
const AUTHORITY = /^(\[[^\s/?#@\\[\]]+\]|[^\s/?#@\\:[\]]+):(\d{1,5})$/;

/** Of CONNECT: `host:port`. Null when it cannot be read. */
export function readAuthority(text: string | undefined): Target | null {
  const [, name, digits] = AUTHORITY.exec(text ?? "") ?? [];
  const port = Number(digits);
  if (!name || !(port >= 1 && port <= 65_535)) return null;
  const host = URL.canParse(`http://${name}/`) ? canonicalHost(new URL(`http://${name}/`).hostname) : "";
  return host ? { host, port } : null;
}

/** Of any other method: `http://host:port/path`. Null when it is no such URL. */
export function readAbsolute(text: string | undefined): (Target & { readonly path: string }) | null {
  if (!text || !/^http:\/\//i.test(text) || !URL.canParse(text)) return null;
  const url = new URL(text);
  const host = canonicalHost(url.hostname);
  // Passwords in URLs are headers by the time that a client sends them.
  if (!host || url.username || url.password || url.port === "0") return null;
  return { host, port: Number(url.port || 80), path: url.pathname + url.search };
}

/** Empty when it is none: no name is longer than this. */
function canonicalHost(hostname: string): string {
  const host = hostname.endsWith(".") ? hostname.slice(0, -1) : hostname;
  return host.length <= NAME_LIMIT_CHARS ? host : "";
}

/** As sockets want it. */
export const bare = (host: string): string => host.replace(/^\[|\]$/g, "");

export const shown = ({ host, port }: Target): string => `${host}:${port}`;
