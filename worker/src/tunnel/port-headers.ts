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
  // They would hold for the whole origin, and some tell others of its requests.
  "nel",
  "report-to",
  "reporting-endpoints",
  "accept-ch",
  "critical-ch",
  "set-login",
  "use-as-dictionary",
]);

/** Pages of the sandbox run in an origin of their own: they can neither read the API's storage nor frame-escape. */
const SANDBOX_POLICY = "sandbox allow-scripts allow-forms";
/** People look at previews, and what they look at is an application. */
const PREVIEW_POLICY =
  "sandbox allow-scripts allow-forms allow-popups allow-modals allow-downloads; frame-ancestors 'self'";

/** What would keep a page from the console's frame, or its own files from a page whose origin is opaque. */
const NOT_FOR_PREVIEWS = [
  "x-frame-options",
  "cross-origin-opener-policy",
  "cross-origin-embedder-policy",
  "access-control-allow-origin",
  "access-control-allow-credentials",
];

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

export function headersForClient(
  given: Pairs,
  port: number,
  prefix: string,
  policy = SANDBOX_POLICY,
): Headers {
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
  // Beside the server's own: a browser holds to each of them, so that none can lift another.
  headers.append("Content-Security-Policy", policy);
  headers.set("X-Content-Type-Options", "nosniff");
  return headers;
}

/** A preview's page has no origin, and its server is to take it for its own. */
export function headersForPreviewedServer(given: Headers, port: number, prefix: string): Pairs {
  return headersForServer(given, port, prefix).map(([name, value]) =>
    name === "origin" && value === "null" ? [name, `http://localhost:${port}`] : [name, value],
  );
}

/** Who reads them had the link, which is all that there is to have: no cookie and no key goes along. */
export function headersForPreview(
  given: Pairs,
  port: number,
  prefix: string,
  origin: string | null,
): Headers {
  const pairs = given.map(([name, value]): [string, string] =>
    /^content-security-policy$/i.test(name) ? [name, framable(value)] : [name, value],
  );
  const headers = headersForClient(pairs, port, prefix, PREVIEW_POLICY);
  for (const name of NOT_FOR_PREVIEWS) headers.delete(name);
  headers.set("Cross-Origin-Resource-Policy", "cross-origin");
  headers.set("Referrer-Policy", "no-referrer");
  for (const [name, value] of Object.entries(sharedWith(origin))) headers.append(name, value);
  return headers;
}

/** Modules, fonts and fetch of a page without an origin need this even for its own server. */
export function sharedWith(origin: string | null): Record<string, string> {
  if (origin !== "null") return {};
  return {
    "Access-Control-Allow-Origin": "null",
    "Access-Control-Allow-Credentials": "true",
    Vary: "Origin",
  };
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

/** Without what a server says of who may frame it: ours says that. */
function framable(policies: string): string {
  const directives = (policy: string) =>
    policy.split(";").filter((directive) => !/^\s*frame-ancestors\b/i.test(directive));
  return policies
    .split(",")
    .map((policy) => directives(policy).join(";"))
    .join(",");
}
