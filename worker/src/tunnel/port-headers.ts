/** @module Which headers pass between a client and a server inside a session. Neither may use the other's identity. */

/** Of one connection, not of the message (RFC 9110, 7.6.1); the rest is set anew by whoever makes the next connection. */
const HOP_BY_HOP = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** The caller's credentials are for the API. Encodings are left out so that no one on the way must know them. */
const NOT_FOR_SERVERS = new Set([
  "authorization",
  "cookie",
  "host",
  "accept-encoding",
  "expect",
  "x-real-ip",
  "true-client-ip",
]);

/** Code in a sandbox must not speak for the API's origin. */
const NOT_FOR_CLIENTS = new Set([
  "set-cookie",
  "set-cookie2",
  "clear-site-data",
  "strict-transport-security",
  "public-key-pins",
  "alt-svc",
  "service-worker-allowed",
  "www-authenticate",
  "x-request-id",
]);

/** Pages of the sandbox run in an origin of their own: they can neither read the API's storage nor frame-escape. */
const SANDBOX_POLICY = "sandbox allow-scripts allow-forms";

type Pairs = [string, string][];

export function headersForServer(given: Headers, port: number, prefix: string): Pairs {
  const listed = new Set(connectionNames(given.get("connection")));
  const pairs: Pairs = [["Host", `localhost:${port}`]];
  for (const [name, value] of given)
    if (
      !HOP_BY_HOP.has(name) &&
      !NOT_FOR_SERVERS.has(name) &&
      !listed.has(name) &&
      !/^(cf-|x-forwarded-|sec-websocket-|x-sandbar-)/.test(name)
    )
      pairs.push([name, value]);
  pairs.push(["X-Forwarded-Prefix", prefix]);
  return pairs;
}

export function headersForClient(given: Pairs, port: number, prefix: string): Headers {
  const listed = new Set(
    given.flatMap(([name, value]) => (name.toLowerCase() === "connection" ? connectionNames(value) : [])),
  );
  const headers = new Headers();
  for (const [name, value] of given) {
    const lower = name.toLowerCase();
    if (HOP_BY_HOP.has(lower) || NOT_FOR_CLIENTS.has(lower) || listed.has(lower)) continue;
    try {
      headers.append(name, lower === "location" ? below(value, port, prefix) : value);
    } catch {
      // A name or value that HTTP does not allow.
    }
  }
  headers.append("Content-Security-Policy", SANDBOX_POLICY);
  headers.set("X-Content-Type-Options", "nosniff");
  return headers;
}

/** Redirects within the server stay within the server. */
function below(location: string, port: number, prefix: string): string {
  const own = new RegExp(`^https?://(localhost|127\\.0\\.0\\.1|\\[::1\\]):${port}(?=/|$)`, "i");
  const path = location.replace(own, "");
  if (path !== location) return prefix + (path || "/");
  return path.startsWith("/") && !path.startsWith("//") ? prefix + path : path;
}

function connectionNames(value: string | null): string[] {
  return (value ?? "").split(",").map((name) => name.trim().toLowerCase());
}
