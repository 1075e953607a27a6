import { describe, expect, it } from "vitest";
import {
  headersForClient,
  headersForPreview,
  headersForPreviewedServer,
  headersForServer,
} from "./port-headers.ts";

const PREFIX = "/v1/sessions/ses_1/ports/8000";

describe("what a server inside a session hears of its caller", () => {
  const given = new Headers({
    Authorization: "Bearer sbk_secret",
    Cookie: "CF_Authorization=token",
    "CF-Connecting-IP": "192.0.2.1",
    Connection: "close, X-Private",
    "X-Private": "1",
    "Transfer-Encoding": "chunked",
    "Content-Type": "text/plain",
    "X-Custom": "yes",
  });
  const names = headersForServer(given, 8000, PREFIX).map(([name]) => name.toLowerCase());

  it("is the request, and where it is mounted", () => {
    expect(names).toEqual(["host", "content-type", "x-custom", "x-forwarded-prefix"]);
  });
});

describe("what a caller hears of a server inside a session", () => {
  const answer = (pairs: [string, string][]) => headersForClient(pairs, 8000, PREFIX);

  it("carries no cookies and nothing of the connection", () => {
    const headers = answer([
      ["Set-Cookie", "a=b"],
      ["Connection", "keep-alive, X-Hop"],
      ["X-Hop", "1"],
      ["Service-Worker-Allowed", "/"],
      ["NEL", '{"report_to":"a","max_age":1}'],
      ["Report-To", "{}"],
      ["X-Kept", "1"],
    ]);
    expect([...headers.keys()]).toEqual(["content-security-policy", "x-content-type-options", "x-kept"]);
  });

  it("is sandboxed on top of the server's own policy", () => {
    const policy = answer([["Content-Security-Policy", "default-src 'self'"]]).get("content-security-policy");
    expect(policy).toBe("default-src 'self', sandbox allow-scripts allow-forms");
  });

  it.each([
    ["/login?next=%2F", `${PREFIX}/login?next=%2F`],
    ["http://localhost:8000/a", `${PREFIX}/a`],
    ["http://127.0.0.1:8000", `${PREFIX}/`],
    ["http://localhost:8001/a", "http://localhost:8001/a"],
    ["https://example.org/", "https://example.org/"],
    ["//example.org/", "//example.org/"],
    ["next", "next"],
  ])("redirects %s to %s", (location, expected) => {
    expect(answer([["Location", location]]).get("location")).toBe(expected);
  });
});

describe("a preview", () => {
  const preview = (pairs: [string, string][], origin: string | null = null) =>
    headersForPreview(pairs, 8000, "/preview/token", origin);
  const SANDBOX =
    "sandbox allow-scripts allow-forms allow-popups allow-modals allow-downloads; frame-ancestors 'self'";

  it("is sandboxed, whatever the server says, and framed by the console alone", () => {
    const policies = (value: string) =>
      preview([["Content-Security-Policy", value]]).get("content-security-policy");
    expect(preview([]).get("content-security-policy")).toBe(SANDBOX);
    expect(policies("sandbox allow-same-origin allow-scripts")).toBe(
      `sandbox allow-same-origin allow-scripts, ${SANDBOX}`,
    );
    expect(policies("default-src 'self'; frame-ancestors 'none'; img-src *, Frame-Ancestors x")).toBe(
      `default-src 'self'; img-src *,, ${SANDBOX}`,
    );
    expect(preview([["X-Frame-Options", "DENY"]]).has("x-frame-options")).toBe(false);
  });

  it("gives its own page, which has no origin, what it asks for", () => {
    const server: [string, string][] = [
      ["Access-Control-Allow-Origin", "https://evil.test"],
      ["Cross-Origin-Resource-Policy", "same-origin"],
      ["Vary", "Accept"],
    ];
    const own = preview(server, "null");
    expect(own.get("access-control-allow-origin")).toBe("null");
    expect(own.get("cross-origin-resource-policy")).toBe("cross-origin");
    expect(own.get("vary")).toBe("Accept, Origin");
    expect(preview(server, "https://evil.test").has("access-control-allow-origin")).toBe(false);
    const asked = headersForPreviewedServer(new Headers({ Origin: "null" }), 8000, "/preview/token");
    expect(asked).toContainEqual(["origin", "http://localhost:8000"]);
  });

  it("keeps redirects below its path", () => {
    expect(preview([["Location", "/a"]]).get("location")).toBe("/preview/token/a");
  });
});
